// prepare: from what the user registered to a registry that can be served.
#pragma once

#include <memory>

#include <pillion/server.hpp>

#include "mcp/registration_faults.hpp"
#include "mcp/registry.hpp"

namespace pillion::app {

// Runs the start hooks (once in a server's life, until one fails) and checks everything registered;
// what is expected to come later may be spoken of. Null with all faults that were found. Thread:
// the registering one.
std::unique_ptr<const mcp::registry> prepare(server& s, mcp::registration_faults& faults,
                                             const detail::expected_names& expected = {});

}  // namespace pillion::app
