// call_stream: the event stream of one call in a legacy session. It keeps what it sends in the
// session's log, so that the call survives its connection: without one, events and the answer only
// go to the log, from where a follower (stream_follower.hpp) replays them.
//
// Heap-allocated; deletes itself when the call has ended and the connection is off its hands.
// Thread: its shard.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/exchange.hpp"
#include "mcp/engine.hpp"
#include "mcp/reply_channel.hpp"

namespace pillion::mcp {

class call_stream final : public reply_channel, private http::exchange_listener {
 public:
    // Turns the response of `r` on `ex` into an event stream and becomes its channel. Clients from
    // 2025-11-25 on get the priming event first: an id to resume from and the time to wait.
    static call_stream& open(engine& e, http::exchange& ex, request& r, std::string_view origin);

    bool notify(request& r, base::byte_buffer message) noexcept override;
    void reply(request& r, base::byte_buffer message, std::uint16_t http_status) noexcept override;
    void drop(request& r) noexcept override;
    bool release(request& r, std::int64_t retry_ms) noexcept override;
    bool is_heard() const noexcept override;

 private:
    call_stream(engine& e, http::exchange& ex, request& r);
    ~call_stream() = default;

    void on_peer_eof() noexcept override { eof_ = true; }
    void on_drained() noexcept override;
    void on_gone() noexcept override;

    bool send(base::byte_buffer message) noexcept;
    void end() noexcept;

    engine& engine_;
    http::exchange* exchange_;
    request* live_;
    session_ref session_;
    std::uint32_t number_;
    std::uint64_t last_ = 0;  // sequence of the last event
    bool eof_ = false;        // the client has hung up, or closed its sending side
};

}  // namespace pillion::mcp
