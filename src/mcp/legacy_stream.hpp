// legacy_stream: the GET stream of a session up to 2025-11-25, on which the server tells what no
// request asked for: changed lists and updated resources. Never responses (REVISIONS §5.5).
//
// Heap-allocated by its opener. When the connection breaks it stays and keeps collecting events
// for the client's return, until a newer stream replaces it or the session ends. Thread: its shard.
#pragma once

#include "http/exchange.hpp"
#include "mcp/engine.hpp"
#include "mcp/hub.hpp"

namespace pillion::mcp {

class legacy_stream final : private change_listener, private http::exchange_listener {
 public:
    // Starts the event stream on `ex` and takes it over. With `resume` it continues an earlier
    // stream of the session: what came behind that event is sent first. At `token_ends_s` (seconds
    // since 1970) the client has to come back with another token.
    static void open(engine& e, http::exchange& ex, session_ref s, std::string_view origin,
                     std::int64_t token_ends_s, const event_id* resume = nullptr);

 private:
    legacy_stream(engine& e, http::exchange& ex, session_ref s, const event_id* resume);
    ~legacy_stream();

    void on_change(const change_event& event) noexcept override;
    void on_task_status(const task_record& now) noexcept override;
    void on_session_end(const session* which) noexcept override;
    void on_stream_replaced(const session* of) noexcept override;
    void on_stream_promoted(const session* of) noexcept override;
    void on_drain() noexcept override { end(); }
    void on_token_end() noexcept override;
    bool still_let_in() const noexcept override;
    void on_peer_eof() noexcept override;
    void on_drained() noexcept override;
    void on_gone() noexcept override;
    bool is_told_here() const noexcept;
    void tell(const change_event& event) noexcept;
    void cut() noexcept;
    void prime() noexcept;
    void tell(base::byte_buffer message) noexcept;
    void replay(event_id after) noexcept;
    void catch_up() noexcept;
    void promote_other() noexcept;
    void end() noexcept;

    engine& engine_;
    http::exchange* exchange_;  // null: the client is away, events are kept for it
    session_ref session_;
    std::uint64_t number_;               // among the session's GET streams
    std::uint32_t log_;                  // in its event log
    std::int64_t behind_since_ms_ = -1;  // output waits for the client to read
};

// A change as the notification that earlier revisions know.
void write_change(base::byte_buffer& out, const change_event& event);

}  // namespace pillion::mcp
