// legacy_sse: the HTTP+SSE transport of 2024-11-05 (REVISIONS §4). A GET opens an event stream
// whose first event names the address for messages; everything the server says comes on that
// stream, and closing it ends the session.
//
// Heap-allocated by open(), deletes itself when the stream is gone and the last call has ended.
// Answers of calls side by side may come quicker than they are read: they wait here, one is sent at
// a time. They are bounded like what one request holds; who lets more than that lie is cut.
// Messages may arrive on any shard; they are passed to the one that has the stream. Thread: the
// shard of its stream.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "http/exchange.hpp"
#include "mcp/message_pipe.hpp"

namespace pillion::mcp {

class legacy_sse final : public message_pipe, private http::exchange_listener {
 public:
    // Starts the stream on `ex` and takes it over. `message_path` is where messages are posted.
    // `from`: who asked for it, and whose alone it is.
    static void open(engine& e, http::exchange& ex, std::string_view message_path,
                     std::string_view origin, const caller& from);

    // A message for this stream, from its owner with these rights; for as long as those last, the
    // stream goes on.
    void receive(std::string_view message, const granted& rights);
    const std::string& id() const noexcept { return id_; }

    bool send(base::byte_buffer message) noexcept override;

 private:
    legacy_sse(engine& e, http::exchange& ex, const caller& from);
    ~legacy_sse();

    void on_one_ended() noexcept override;
    void on_session_end(const session* /*which*/) noexcept override {}
    void on_drain() noexcept override;
    void on_token_end() noexcept override;
    bool still_let_in() const noexcept override;
    void on_peer_eof() noexcept override;
    void on_drained() noexcept override;
    void on_stalled() noexcept override;
    void on_gone() noexcept override;
    void end_if_done() noexcept;
    void end_stream() noexcept;
    bool too_much_waits() const noexcept;
    void cut() noexcept;
    void stream_ended() noexcept;

    http::exchange* exchange_;
    bool draining_ = false;  // ends when the last call has been answered
    bool eof_ = false;       // ends when what waits has been sent
    bool slow_ = false;      // what was sent has not been read
    std::deque<base::byte_buffer> waiting_;
    std::size_t waiting_bytes_ = 0;
    std::string id_;
};

}  // namespace pillion::mcp
