// run_http: the serve command: listeners, one shard per thread, signals, shutdown.
#pragma once

#include <memory>

#include <pillion/server.hpp>

#include "app/reloader.hpp"
#include "mcp/registry.hpp"

namespace pillion::app {

// Serves until a signal or server::shutdown(). Returns the exit code.
int run_http(server& s, std::unique_ptr<const mcp::registry> registered, configuration start);

}  // namespace pillion::app
