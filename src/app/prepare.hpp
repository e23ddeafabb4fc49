// prepare: from what the user registered to a registry that can be served.
#pragma once

#include <memory>
#include <string>

#include <pillion/server.hpp>

#include "mcp/registry.hpp"

namespace pillion::app {

// Runs the start hooks (once in a server's life) and checks everything registered; what is expected
// to come later may be spoken of. Null with a one-line fault. Thread: the registering one.
std::unique_ptr<const mcp::registry> prepare(server& s, std::string& fault,
                                             const detail::expected_names& expected = {});

}  // namespace pillion::app
