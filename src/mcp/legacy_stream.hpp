// legacy_stream: the GET stream of a session up to 2025-11-25, on which the server tells what no
// request asked for: changed lists and updated resources. Never responses (REVISIONS §5.5).
//
// Heap-allocated by its opener, deletes itself when the stream ends. Thread: its shard.
#pragma once

#include "http/exchange.hpp"
#include "mcp/engine.hpp"
#include "mcp/hub.hpp"

namespace pillion::mcp {

class legacy_stream final : private change_listener, private http::exchange_listener {
 public:
    // Starts the event stream on `ex` and takes it over.
    static void open(engine& e, http::exchange& ex, session_ref s, std::string_view origin);

 private:
    legacy_stream(engine& e, http::exchange& ex, session_ref s);
    ~legacy_stream();

    void on_change(const change_event& event) noexcept override;
    void on_session_end(const session* which) noexcept override;
    void on_drain() noexcept override { end(); }
    void on_peer_eof() noexcept override { end(); }
    void on_drained() noexcept override {}
    void on_gone() noexcept override { delete this; }
    void end() noexcept;

    engine& engine_;
    http::exchange& exchange_;
    session_ref session_;
    std::uint64_t number_;
};

// A change as the notification that earlier revisions know.
void write_change(base::byte_buffer& out, const change_event& event);

}  // namespace pillion::mcp
