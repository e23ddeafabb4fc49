// Renders server-sent events (WHATWG HTML §9.2) into byte_buffers, each as one HTTP chunk.
//
// The size of a chunk stands before its data, which is serialised in place: the size is written as
// eight hex digits (leading zeros are legal, RFC 9112 §7.1) and patched when the event is complete,
// so nothing moves. HTTP/1.0 streams are written without chunk framing.
//
// Thread: the shard of the buffer's pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/byte_buffer.hpp"

namespace pillion::http {

// What ends a chunked stream (no trailers).
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// No CR and no LF.
bool is_one_line(std::string_view text) noexcept;

// The fields of an event besides its data. An id or type must hold no CR, LF or NUL (asserted).
struct sse_fields {
    std::optional<std::string_view> id;  // an empty id resets the client's last event id
    std::string_view event;              // the type; left out when empty ("message")
    std::optional<std::uint32_t> retry_ms;
};

// An event under construction.
struct sse_mark {
    std::size_t size_at = 0;  // where the eight digits are, from the start of the content
    std::size_t data_at = 0;  // where the data begins
    bool chunked = false;
};

// Begins an event: writes the fields and "data: ". The caller then appends the data, one line of
// text, straight to `out` and calls end_sse_event with the returned mark.
sse_mark begin_sse_event(base::byte_buffer& out, const sse_fields& fields, bool chunked) noexcept;

// Ends the event: blank line, chunk end, size. REQUIRES: nothing before the mark was changed, the
// data holds no CR or LF (asserted: JSON as we write it has none, and one would forge fields), the
// event is shorter than 4 GiB.
void end_sse_event(base::byte_buffer& out, const sse_mark& mark) noexcept;

// Both at once, for data that exists already. Same requirements.
void append_sse_event(base::byte_buffer& out, const sse_fields& fields, std::string_view data,
                      bool chunked) noexcept;

// Appends a comment that keeps proxies and clients from giving up an idle stream.
void append_sse_keep_alive(base::byte_buffer& out, bool chunked) noexcept;

// Appends the end of the stream; nothing when it is not chunked: the connection's end is it.
void append_sse_end(base::byte_buffer& out, bool chunked) noexcept;

}  // namespace pillion::http
