// Incremental parser of event streams (WHATWG HTML §9.2.6), for clients, the load generator and
// tests. Lines end with CR, LF or CRLF; a byte order mark at the start is skipped; the result does
// not depend on how the bytes were cut.
//
// Thread-safety: an ordinary object; one per stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::http {

// A dispatched event.
struct sse_event {
    std::string id;    // the last event id of the stream, which events without id inherit
    std::string type;  // "message" when the stream gave none
    std::string data;  // its lines joined by LF
};

enum class sse_state : std::uint8_t { need_more, event, too_large };

struct sse_step {
    sse_state state = sse_state::need_more;
    std::size_t consumed = 0;
};

class sse_parser {
 public:
    // Events whose data and unfinished line exceed `event_bytes_max` fail the stream.
    explicit sse_parser(std::size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

    // Begins another stream, keeping the memory.
    void reset() noexcept;

    // Begins a stream that goes on where this one ended: the last event id and the reconnection
    // time stay.
    void go_on() noexcept;

    // Gives back the memory of the last event, which is not valid any more.
    void release() noexcept;

    // Reads `bytes` up to the end of the next event. event: event() holds it; call again with the
    // bytes behind `consumed`. need_more: all were consumed. too_large: give the stream up.
    sse_step feed(std::string_view bytes);

    // The event found last. Valid until the next feed().
    const sse_event& event() const noexcept { return event_; }

    // The reconnection time if the stream has set one, in milliseconds.
    std::optional<std::uint64_t> retry_ms() const noexcept { return retry_ms_; }
    // What a client sends as Last-Event-ID after a reconnect; empty when there is none.
    const std::string& last_event_id() const noexcept { return last_id_; }

 private:
    // Takes one line without its end; true when it dispatched an event.
    bool take_line(std::string_view line);
    void take_field(std::string_view name, std::string_view value);
    bool dispatch();

    std::size_t event_bytes_max_;
    std::string line_;
    std::string data_;
    std::string type_;
    std::string id_;  // the id buffer: becomes last_id_ when an event is dispatched
    std::string last_id_;
    std::optional<std::uint64_t> retry_ms_;
    sse_event event_;
    bool first_line_ = true;
    bool skip_lf_ = false;  // the previous line ended with CR: a LF now belongs to it
};

}  // namespace pillion::http
