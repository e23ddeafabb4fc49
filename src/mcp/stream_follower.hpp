// stream_follower: a GET with Last-Event-ID that continues the stream of a call: it replays what
// the client missed out of the session's log and then what still comes, until the call has ended.
//
// Heap-allocated by open(), deletes itself at the end. It is woken through its shard's engine
// whenever the log has grown. A client that reads slowly holds the writer back, as on the first
// connection. Thread: its shard.
#pragma once

#include "base/intrusive_list.hpp"
#include "http/exchange.hpp"
#include "mcp/engine.hpp"
#include "mcp/hub.hpp"

namespace pillion::mcp {

class stream_follower final : public base::list_hook<struct follower_tag>,
                              private change_listener,
                              private http::exchange_listener {
 public:
    // Takes `ex` over; at `token_ends_s` (seconds since 1970) it ends, and the client may come back
    // with another token. REQUIRES: the log found `from`.
    static void open(engine& e, http::exchange& ex, session_ref s, event_id from,
                     std::string_view origin, std::int64_t token_ends_s);

    // The stream `number` of `s` has new events, or has ended.
    void wake(const session* s, std::uint32_t number) noexcept;

 private:
    stream_follower(engine& e, http::exchange& ex, session_ref s, event_id from);
    ~stream_follower();

    void on_change(const change_event& /*event*/) noexcept override {}
    void on_session_end(const session* which) noexcept override;
    void on_drain() noexcept override;
    void on_token_end() noexcept override;
    bool still_let_in() const noexcept override;
    void on_peer_eof() noexcept override { end(); }
    void on_drained() noexcept override;
    void on_gone() noexcept override { delete this; }

    void pull() noexcept;
    void wake_writer() noexcept;
    void end() noexcept;

    engine& engine_;
    http::exchange& exchange_;
    session_ref session_;
    event_id at_;
    std::uint64_t token_ = 0;
    bool blocked_ = false;  // the client reads slowly
};

}  // namespace pillion::mcp
