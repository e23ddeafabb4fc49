// server: the HTTP side of one shard: it turns accepted sockets (or any stream) into connections,
// keeps them in a list and drains them. Owns its connections and the coroutines that serve them.
//
// Thread: its shard.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/intrusive_list.hpp"
#include "base/random.hpp"
#include "coro/scope.hpp"
#include "http/date.hpp"
#include "http/exchange.hpp"
#include "http/head_memo.hpp"
#include "http/request_parser.hpp"
#include "http/response_writer.hpp"
#include "io/reactor.hpp"
#include "io/stream.hpp"

namespace pillion::http {

struct server_limits {
    std::size_t connections_max;
    std::int64_t head_timeout_ms;
    std::int64_t body_timeout_ms;
    std::int64_t idle_timeout_ms;
    std::int64_t sse_keepalive_ms;
    std::int64_t reader_stall_ms;  // a stream whose reader takes nothing this long is cut
    // Bytes a second that a head and a body must come with; 0: any.
    std::int64_t head_rate_min;
    std::int64_t body_rate_min;
    head_limits head;
    server_limits() noexcept;  // the defaults of base/limits.hpp
};

// What went over the connections of a server so far.
struct server_counts {
    std::uint64_t opened = 0;
    std::uint64_t over_cap = 0;                // connections that were one too many
    std::uint64_t unwanted = 0;                // … and those that the handler refused (on_open)
    std::uint64_t forbidden = 0;               // … or whoever accepted them
    std::uint64_t slow_senders = 0;            // heads and bodies cut because they dripped
    std::uint64_t slow_readers = 0;            // streams cut because nothing was read
    std::uint64_t requests = 0;                // heads that could be read
    std::array<std::uint64_t, 5> responses{};  // 1xx … 5xx
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::size_t streams = 0;  // event streams that are open now
};

class server {
 public:
    server(io::reactor& loop, request_handler& handler, const server_limits& limits);
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    // Asserts that no connection is left: drain() and wait for idle() first.
    ~server();

    // Serves a connected stream. Over the cap it is answered 503 and closed.
    // `refusal`: not 0 when it is only told that, as the status of whatever it asks.
    void serve(std::unique_ptr<io::stream> stream, std::uint16_t refusal = 0) noexcept;

    // Stops keep-alive: idle connections close when they have been quiet for
    // limits::drain_quiet_ms, busy ones after their answer, with "Connection: close". Event streams
    // are the layer above's to end.
    void drain() noexcept;
    // Closes everything at once, answers or not.
    void close_all() noexcept;

    // Connections being served; those that are over the cap and on their way out do not count.
    std::size_t connections() const noexcept { return count_; }
    // Keeps that number there as well, for other threads; it must outlive the server.
    void show_connections(std::atomic<std::size_t>& to) noexcept { shown_ = &to; }
    const server_counts& counts() const noexcept { return counts_; }
    // Nothing is left: no connection, no coroutine.
    bool idle() const noexcept { return open_.empty() && tasks_.running() == 0; }

    io::reactor& loop() noexcept { return loop_; }
    request_handler& handler() noexcept { return handler_; }
    const server_limits& limits() const noexcept { return limits_; }
    // From now on; times that run already end as they were set.
    void change(const server_limits& to) noexcept {
        limits_ = to;
        memo_.clear();
    }
    bool draining() const noexcept { return draining_; }

 private:
    friend class connection;
    void remove(connection& c) noexcept;
    void count(std::size_t connections) noexcept;

    io::reactor& loop_;
    request_handler& handler_;
    server_limits limits_;
    base::intrusive_list<connection> open_;
    coro::scope tasks_;
    date_cache dates_;
    usual_begin usual_;
    base::seeded_random random_;  // of request ids, and of when slow peers are looked at
    request_head head_;           // the one that a connection is reading, unless memo_ knows it
    head_memo memo_;
    server_counts counts_;
    std::size_t count_ = 0;
    std::atomic<std::size_t>* shown_ = nullptr;
    std::size_t rejections_ = 0;  // at present
    bool draining_ = false;
};

}  // namespace pillion::http
