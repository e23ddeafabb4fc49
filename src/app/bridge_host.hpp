// bridge_host: the bridge to the MCP servers behind this one, as a runner has it. Without servers
// in the configuration at the start there is none.
//
// Thread: the runner's own loop.
#pragma once

#include <memory>
#include <vector>

#include <pillion/server.hpp>

#include "io/blocking_pool.hpp"
#include "io/reactor.hpp"
#include "mcp/service.hpp"
#include "sidecar/bridge.hpp"

namespace pillion::app {

class bridge_host {
 public:
    // What the servers offer is registered with `of`, which `shared` serves. All must outlive this.
    bridge_host(server& of, const mcp::service& shared, io::offload& helpers) noexcept
        : server_(of), shared_(shared), helpers_(helpers) {}

    // Starts the servers, and turns the loop until all have started or failed to, for a while:
    // those that take longer are offered when they come. A signal that asks for the end ends that,
    // if nobody watches signals yet.
    void bring_up(io::reactor& loop, const std::vector<sidecar::bridge_spec>& all);
    // After a reload.
    void change(const std::vector<sidecar::bridge_spec>& to);
    // Ends them; the loop must be turned until idle().
    void close() noexcept;
    bool idle() const noexcept { return bridge_ == nullptr || bridge_->idle(); }

 private:
    void note_unknown(const std::vector<sidecar::bridge_spec>& all);

    server& server_;
    const mcp::service& shared_;
    io::offload& helpers_;
    std::unique_ptr<sidecar::bridge> bridge_;
};

}  // namespace pillion::app
