// metrics_port: the listening address of /metrics, on shard 0 alone. A few connections at a time;
// what goes over it does not count as traffic of the server.
//
// Thread: its shard.
#pragma once

#include <cstdint>

#include "app/secure_side.hpp"
#include "app/settings.hpp"
#include "http/server.hpp"
#include "io/listener.hpp"
#include "io/socket.hpp"
#include "mcp/engine.hpp"
#include "mcp/metrics_endpoint.hpp"

namespace pillion::app {

class metrics_port final : private io::connection_sink {
 public:
    // Listens at once. `fd` stays the caller's. `secure`: who makes streams of https; not null
    // where the address speaks that.
    metrics_port(mcp::engine& e, int fd, const io::listen_spec& spec, const settings& set,
                 secure_side* secure);

    void change(const settings& to) noexcept;
    // Stops accepting and ends keep-alive.
    void drain() noexcept;
    void close_all() noexcept { server_.close_all(); }
    bool idle() const noexcept { return closed_ && server_.idle(); }

 private:
    void on_connection(int fd) noexcept override;
    void on_listener_closed() noexcept override { closed_ = true; }

    io::reactor& loop_;
    io::listen_spec spec_;
    std::uint16_t bound_port_;  // 0 for a unix socket
    secure_side* secure_;       // null: plain HTTP
    mcp::metrics_endpoint endpoint_;
    http::server server_;
    io::listener listener_;
    bool closed_ = false;
};

}  // namespace pillion::app
