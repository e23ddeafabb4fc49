// shard: one thread of the HTTP server with everything that lives on it: event loop, engine, and
// per listening address the listener, the HTTP server and the MCP transport.
//
// The main thread makes a shard and calls run() on the shard's own thread; drain() and hurry() may
// be called from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "app/introspection_desk.hpp"
#include "app/leak_report.hpp"
#include "app/metrics_port.hpp"
#include "app/secure_side.hpp"
#include "app/settings.hpp"
#include "app/spread.hpp"
#include "http/server.hpp"
#include "io/listener.hpp"
#include "io/reactor.hpp"
#include "io/socket.hpp"
#include "io/unix_peer.hpp"
#include "mcp/engine.hpp"
#include "mcp/http_transport.hpp"

namespace pillion::app {

// The rules for Host and Origin of an address; `bound_port` is 0 for a unix socket.
http::origin_policy origins_of(std::uint16_t bound_port, const io::listen_spec& spec,
                               const settings& set);

// One listening address on one shard.
class port final : public io::connection_sink, private spread::taker, private mcp::metrics_source {
 public:
    // `among`: the shards that share the address; null for one that has it alone. `secure`: who
    // makes streams of https; not null where the address speaks that. `asks`: who asks others about
    // tokens; not null where they are needed.
    port(mcp::engine& e, io::listen_socket socket, const io::listen_spec& spec, const settings& set,
         spread* among, secure_side* secure, mcp::introspector* asks);
    ~port();

    void change(const settings& to) noexcept;
    // The board of keys has news.
    void take_keys() { transport_.take_keys(); }

    void start() noexcept;
    // Stops accepting and ends keep-alive.
    void drain() noexcept;
    void close_all() noexcept {
        listener_.close(0);
        server_.close_all();
    }
    bool idle() const noexcept;

 private:
    void on_connection(int fd) noexcept override;
    bool wants_connection() noexcept override;
    void on_listener_closed() noexcept override;
    void collect(base::metrics_page& to) const override;
    void take(int fd) noexcept override;
    void pass_on(int fd, std::size_t shard) noexcept;

    mcp::engine& engine_;
    io::reactor& loop_;
    io::listen_socket socket_;
    io::listen_spec spec_;
    std::uint16_t bound_port_;  // 0 for a unix socket
    spread* among_;
    secure_side* secure_;  // null: plain HTTP
    mcp::introspector* asks_;
    std::size_t connections_max_;
    io::unix_peers peers_;
    mcp::http_transport transport_;
    http::server server_;
    io::listener listener_;
    bool draining_ = false;
    bool closed_ = false;
};

class shard {
 public:
    // `sockets[i]` listens on `set->listen[i]`, whose connections `among[i]` spreads over the
    // shards (none: they stay here).
    shard(mcp::service& shared, std::shared_ptr<const settings> set, std::size_t index,
          std::vector<io::listen_socket> sockets, std::vector<std::shared_ptr<spread>> among = {});
    ~shard();

    // Makes the event loop on the calling thread. False with a fault; `note` is a line for the log.
    bool open(std::string& note, std::string& fault);
    // Serves /metrics of all shards on `socket` as well. Before run(), the same thread.
    void serve_metrics(io::listen_socket socket, const io::listen_spec& spec);
    // The same over a backend that is there already (simulation).
    void open_on(std::unique_ptr<io::backend> with);
    // Takes connections from now on, which have waited until then. Once, the same thread.
    void listen() noexcept;
    // Serves until drained. The same thread as open().
    void run() noexcept;
    // Closes what open() made; the report is complete afterwards. The same thread.
    void close() noexcept;

    io::reactor& loop() noexcept { return *loop_; }
    mcp::engine& engine() noexcept { return *engine_; }
    // Nothing is under way, and nobody is listened to.
    bool idle() const noexcept;
    const leak_report& left() const noexcept { return left_; }
    // False when work that ignored every request to stop had to be left behind.
    bool ended_in_time() const noexcept { return in_time_; }

    // Serves by other settings from the next request on. The loop's thread.
    void change(std::shared_ptr<const settings> to) noexcept;
    // The board of keys has news. The loop's thread.
    void take_keys() noexcept;

    // Finishes what is in flight, at most for the drain timeout. The loop's thread.
    void drain() noexcept;
    // The second signal: drops what is in flight. The loop's thread.
    void hurry() noexcept;

 private:
    static void on_poll(io::timer& self, void* owner) noexcept;

    mcp::service& shared_;
    std::shared_ptr<const settings> set_;
    std::size_t index_;
    std::vector<io::listen_socket> sockets_;
    std::vector<std::shared_ptr<spread>> among_;
    std::unique_ptr<io::reactor> loop_;
    std::unique_ptr<mcp::engine> engine_;
    std::unique_ptr<secure_side> secure_;       // null: nobody speaks https
    std::unique_ptr<introspection_desk> desk_;  // null: nobody needs a token
    std::vector<std::unique_ptr<port>> ports_;
    io::listen_socket metrics_socket_;
    std::unique_ptr<metrics_port> metrics_;  // null: none
    io::timer poll_;
    std::int64_t stop_at_ns_ = INT64_MAX;   // when stragglers are told to stop
    std::int64_t leave_at_ns_ = INT64_MAX;  // when they are left behind
    bool draining_ = false;
    bool hurried_ = false;  // stragglers were told to stop
    bool cut_ = false;      // … and their connections closed
    bool in_time_ = true;
    leak_report left_;
};

}  // namespace pillion::app
