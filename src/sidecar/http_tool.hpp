// http_tool: a tool that is one request to an upstream (http_spec.hpp).
//
// What goes there is the operator's: arguments fill places in path, query, fields and body, and
// nothing of the caller's credentials is handed on. Redirects are not followed.
//
// Thread-safety: a handler may run on every shard at once.
#pragma once

#include <functional>
#include <string>

#include <pillion/server.hpp>

#include "sidecar/http_spec.hpp"

namespace pillion::sidecar {

// Whether it can be made as far as the configuration tells. False with a fault in words.
bool check(const http_spec& what, std::string& fault);

// REQUIRES: check().
std::function<task<tool_result>(context&, json::view)> http_handler(http_spec what);

}  // namespace pillion::sidecar
