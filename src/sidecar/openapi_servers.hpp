// openapi_servers: where an OpenAPI description says that it is served (OpenAPI 3.1 §4.8.5).
//
// Thread-safety: a pure function.
#pragma once

#include <string>

#include <pillion/json.hpp>

namespace pillion::sidecar {

// The URL of the first of `servers`, variables replaced by their defaults, without a slash at its
// end. Empty when there is none, or none that can be made of it.
std::string first_server(json::view servers);

}  // namespace pillion::sidecar
