// reply_reader: the answer to one request over HTTP/1, from bytes as they come: heads, interim
// heads, bodies by Content-Length, chunked or until the end of the connection, and the messages in
// them: one JSON body, or the events of a stream.
//
// What is whole in one piece of input is judged where it lies; the rest is collected, bounded.
// Steady state: no heap. Thread: its shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_buffer.hpp"
#include "http/chunked.hpp"
#include "http/response_parser.hpp"
#include "http/sse_parser.hpp"

namespace pillion::load {

// Who takes the messages of an answer.
class message_sink {
 public:
    // One message: the whole body, or the data of an event. May be changed in place;
    // limits::padding readable bytes follow. Valid for the call.
    virtual void on_message(char* text, std::size_t size) noexcept = 0;

 protected:
    ~message_sink() = default;
};

enum class reply_state : std::uint8_t { need_more, complete, malformed, too_large };

class reply_reader {
 public:
    // Bodies, and single events, of at most `answer_bytes_max` are read.
    reply_reader(base::chunk_pool& pool, std::size_t answer_bytes_max, message_sink& sink);

    // Expects the next answer.
    void begin() noexcept;
    // Takes data[0..size), which may be changed in place (limits::padding readable bytes follow).
    // Only one answer is due: bytes behind it are `malformed`. After anything but need_more,
    // begin() comes next.
    reply_state feed(char* data, std::size_t size) noexcept;
    // The peer has finished sending: complete where that ends the body, else malformed.
    reply_state end() noexcept;

    // Whether any byte of the answer has come.
    bool begun() const noexcept { return in_body_ || scanned_ > 0; }
    // Of the head. Valid after it has been read, until begin().
    std::uint16_t status() const noexcept { return status_; }
    bool keep_alive() const noexcept { return keep_alive_; }
    bool is_event_stream() const noexcept { return events_; }
    // Of the message that the sink is given: empty when it is no event of a stream.
    std::string_view event_type() const noexcept {
        return events_ ? std::string_view(stream_.event().type) : std::string_view();
    }
    const std::string& session() const noexcept { return session_; }

 private:
    reply_state feed_head(char* data, std::size_t size) noexcept;
    bool take_head(http::response_head& head);
    reply_state feed_body(char* data, std::size_t size) noexcept;
    // Takes decoded bytes of the body; `last` when it is whole.
    reply_state take(char* data, std::size_t size, bool last) noexcept;
    reply_state take_events(std::string_view bytes) noexcept;

    message_sink* sink_;
    std::size_t bytes_max_;
    base::byte_buffer head_;   // what has come of a head that is not whole
    std::size_t scanned_ = 0;  // bytes of it
    base::byte_buffer body_;   // what has come of a body, or one event
    http::chunk_decoder chunks_{0};
    http::sse_parser stream_;
    std::uint64_t left_ = 0;  // of a body with Content-Length
    http::body_kind kind_ = http::body_kind::none;
    std::uint16_t status_ = 0;
    bool in_body_ = false;
    bool keep_alive_ = true;
    bool events_ = false;
    std::string session_;
};

}  // namespace pillion::load
