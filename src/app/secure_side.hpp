// secure_side: TLS on one shard: makes the streams of its https addresses from the settings of the
// day, and counts for /metrics. Connections keep the certificates they began with.
//
// Outlives the shard's streams. Thread: its shard.
#pragma once

#include <memory>

#include "app/settings.hpp"
#include "io/stream.hpp"
#include "mcp/engine.hpp"
#include "mcp/metrics_endpoint.hpp"
#include "tls/context.hpp"
#include "tls/loop_share.hpp"

namespace pillion::app {

class secure_side final : private mcp::metrics_source {
 public:
    // REQUIRES: `set` has certificates; they were tried when it was made.
    secure_side(mcp::engine& e, const settings& set);
    secure_side(const secure_side&) = delete;
    secure_side& operator=(const secure_side&) = delete;

    // Before the engine goes: /metrics has none of it any more.
    void leave_engine() noexcept { leave(); }

    // From the next connection on.
    void change(const settings& to);
    // Takes ownership of `fd`, an accepted TCP connection.
    std::unique_ptr<io::stream> open(int fd);

 private:
    void collect(base::metrics_page& to) const override;

    tls::loop_share share_;
    std::shared_ptr<tls::server_context> context_;
    std::shared_ptr<const tls::server_files> files_;  // that it was made from
};

}  // namespace pillion::app
