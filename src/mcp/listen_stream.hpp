// listen_stream: an open subscriptions/listen over HTTP. It takes the exchange over from its
// request, which is gone then: an idle stream holds nothing but what it subscribed to.
//
// Heap-allocated by open(), deletes itself when the stream ends: the client leaves or is cut, the
// server drains. Thread: its shard.
#pragma once

#include "http/exchange.hpp"
#include "mcp/paced_listener.hpp"
#include "mcp/subscription.hpp"

namespace pillion::mcp {

class listen_stream final : private paced_listener,
                            private subscriber,
                            private http::exchange_listener {
 public:
    // Acknowledges on `ex`, which streams already, and goes on from there.
    static void open(http::exchange& ex, const request& r);

 private:
    listen_stream(http::exchange& ex, const request& r);
    ~listen_stream() { unlink(); }

    bool tell(const change_event& event) noexcept override;
    void on_stalled() noexcept override;
    void on_session_end(const session* /*which*/) noexcept override {}
    void on_drain() noexcept override;
    void on_token_end() noexcept override;
    bool still_let_in() const noexcept override;
    void on_peer_eof() noexcept override;
    void on_drained() noexcept override;
    void on_gone() noexcept override { end("disconnected"); }
    base::byte_buffer new_message() const noexcept override;
    void send_task(base::byte_buffer message) noexcept override;
    bool must_wait() const noexcept override { return behind(); }
    void cut() noexcept;
    void end(outcome how) noexcept;

    http::exchange& exchange_;
    const std::int64_t started_ns_;
    subscription wanted_;
};

}  // namespace pillion::mcp
