// run_stdio: the stdio command: one shard on standard input and output.
#pragma once

#include <memory>

#include <pillion/server.hpp>

#include "app/reloader.hpp"
#include "mcp/registry.hpp"

namespace pillion::app {

// Serves until the input ends, the output breaks, or a signal. Returns the exit code.
int run_stdio(server& s, std::unique_ptr<const mcp::registry> registered, configuration start);

}  // namespace pillion::app
