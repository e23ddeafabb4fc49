// The part of connection that sends event streams.
//
// An event's data exists already when it is sent, behind a gap: the framing is written into the
// gap and behind the data, nothing moves. (sse_writer serialises events from scratch.)

#include <charconv>
#include <cstring>
#include <span>
#include <utility>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "http/connection.hpp"
#include "http/response_writer.hpp"
#include "http/server.hpp"
#include "http/sse_writer.hpp"
#include "io/reactor.hpp"

namespace pillion::http {

namespace {

// What stands before the data of an event, in a buffer as large as the gap.
class event_prefix {
 public:
    bool fits(std::string_view id) const noexcept {
        // Chunk size, two field names, the retry number, "data: " and line ends stay below this.
        constexpr std::size_t fixed_bytes = 96;
        return id.size() + fixed_bytes <= sizeof(text_);
    }
    void text(std::string_view t) noexcept {
        std::memcpy(text_ + bytes_, t.data(), t.size());
        bytes_ += t.size();
    }
    void number(std::int64_t n) noexcept {
        bytes_ = static_cast<std::size_t>(
            std::to_chars(text_ + bytes_, text_ + sizeof(text_), n).ptr - text_);
    }
    // The size of the chunk goes in front of what is there: eight digits, leading zeros are legal
    // (RFC 9112 §7.1).
    void chunk_size(std::size_t bytes) noexcept {
        for (std::size_t i = size_digits; i-- > 0; bytes >>= 4U) {
            text_[i] = base::hex_digits[bytes & 15U];
        }
        std::memcpy(text_ + size_digits, "\r\n", 2);
    }
    static constexpr std::size_t size_digits = 8;
    std::size_t bytes() const noexcept { return bytes_; }
    std::string_view view() const noexcept { return {text_, bytes_}; }

 private:
    char text_[exchange::head_gap];
    std::size_t bytes_ = 0;
};

// Frames `data` in place.
void frame_event(base::byte_buffer& data, event_prefix& prefix, std::string_view id,
                 std::int64_t retry_ms, bool chunked) noexcept {
    constexpr std::string_view size_room = "00000000\r\n";
    if (chunked) {
        prefix.text(size_room);
    }
    const std::size_t fields_at = prefix.bytes();
    if (!id.empty()) {
        prefix.text("id: ");
        prefix.text(id);
        prefix.text("\n");
    }
    if (retry_ms >= 0) {
        prefix.text("retry: ");
        prefix.number(retry_ms);
        prefix.text("\n");
    }
    prefix.text("data: ");
    if (chunked) {
        constexpr std::size_t blank_line_bytes = 2;
        prefix.chunk_size(prefix.bytes() - fields_at + data.size() + blank_line_bytes);
    }
    data.append(chunked ? std::string_view{"\n\n\r\n"} : std::string_view{"\n\n"});
    data.prepend(prefix.view());
}

}  // namespace

void connection::begin_sse(const extra_header* extra, std::size_t extra_count) noexcept {
    PILLION_ASSERT(open_ && !streaming_);
    streaming_ = true;
    ++server_.counts_.streams;
    count_response(200);
    close_ = close_ || server_.draining();
    PILLION_ASSERT(extra_count <= exchange::extra_headers_max);
    response_spec spec;
    spec.minor_version = minor_version_;
    spec.keep_alive = !close_;
    spec.date = server_.dates_.at(server_.loop().unix_ms() / 1000);
    spec.request_id = request_id();
    spec.extra = {extra, extra_count};
    base::byte_buffer head(server_.loop().chunks());
    chunked_out_ = write_chunked_head(head, spec);
    if (!chunked_out_) {
        // Only the end of the connection can end the stream (RFC 9112 §6.3); a client that speaks
        // HTTP/1.0 waits for it.
        close_ = true;
        client_closes_ = true;
    }
    send(std::move(head));
    since_ns_ = 0;
    set_deadline(timing::stream, server_.limits().sse_keepalive_ms);
}

bool connection::send_event(base::byte_buffer data, std::string_view id,
                            std::int64_t retry_ms) noexcept {
    PILLION_ASSERT(open_ && streaming_);
    PILLION_ASSERT(is_one_line(id) && id.find('\0') == std::string_view::npos);
    PILLION_DEBUG_ASSERT(is_one_line(data.view()));
    if (head_only_) {
        return true;
    }
    event_prefix prefix;
    if (prefix.fits(id)) {
        frame_event(data, prefix, id, retry_ms, chunked_out_);
    } else {
        sse_fields fields;
        fields.id = id;
        if (retry_ms >= 0) {
            fields.retry_ms = static_cast<std::uint32_t>(retry_ms);
        }
        base::byte_buffer framed(server_.loop().chunks());
        append_sse_event(framed, fields, data.view(), chunked_out_);
        data = std::move(framed);
    }
    return write_event(std::move(data));
}

bool connection::send_named_event(std::string_view event, std::string_view data) noexcept {
    PILLION_ASSERT(open_ && streaming_ && is_one_line(event) && is_one_line(data));
    if (head_only_) {
        return true;
    }
    sse_fields fields;
    fields.event = event;
    base::byte_buffer framed(server_.loop().chunks());
    append_sse_event(framed, fields, data, chunked_out_);
    return write_event(std::move(framed));
}

bool connection::write_event(base::byte_buffer event) noexcept {
    if (stream_->queued_bytes() == 0) {
        since_ns_ = 0;
    }
    set_deadline(timing::stream, server_.limits().sse_keepalive_ms);
    return send(std::move(event));
}

void connection::end_sse() noexcept {
    PILLION_ASSERT(open_ && streaming_);
    if (chunked_out_ && !head_only_) {
        stream_->write_static(last_chunk);
    }
    finish();
}

void connection::keep_stream_alive() noexcept {
    // A comment behind bytes that wait for a slow peer would tell it nothing.
    if (!open_ || head_only_ || stream_->queued_bytes() > 0) {
        return;
    }
    base::byte_buffer comment(server_.loop().chunks());
    append_sse_keep_alive(comment, chunked_out_);
    send(std::move(comment));
}

}  // namespace pillion::http
