// Writes response heads into byte_buffers (RFC 9112 §4, RFC 9110 §8.6).
//
// A reply's body is serialised first, behind a head gap; write_head() then puts a head with the
// exact Content-Length right in front of it, and both leave in one send without a copy.
//
// Values of extra fields may come from a peer and cannot break out of their line: control bytes are
// written as spaces (RFC 9110 §5.5). Names and our own constants are asserted.
// Thread: the shard of the buffer's pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/byte_buffer.hpp"

namespace pillion::http {

// Reserve this as the head gap of a reply's byte_buffer: usual heads fit, larger ones cost a copy
// of the body.
inline constexpr std::size_t head_gap_bytes = 512;

// The interim reply to `Expect: 100-continue` (RFC 9110 §15.2.1).
inline constexpr std::string_view continue_100 = "HTTP/1.1 100 Continue\r\n\r\n";

// The reason phrase of a status; "Unknown" for one that is not in the table.
std::string_view reason_phrase(std::uint16_t status) noexcept;

// An extra field. `name` is ours and must be a token; `value` may hold anything.
struct header_line {
    std::string_view name;
    std::string_view value;
};

// How most heads begin: 200, the date, JSON, up to the digits of Content-Length. Made once a
// second; one per shard. Thread: the one that owns it.
class usual_begin {
 public:
    // For the second of `date` (from date_cache). The view is valid until the next call.
    std::string_view at(std::int64_t unix_seconds, std::string_view date) noexcept;

 private:
    std::int64_t seconds_ = INT64_MIN;
    std::size_t bytes_ = 0;
    char text_[160];
};

// What a head says besides the length of its body. Views are read during the call only.
struct response_spec {
    std::uint16_t status = 200;
    std::uint8_t minor_version = 1;  // of the request: 1.0 clients need an explicit keep-alive
    bool keep_alive = true;
    bool head_request = false;      // the body is measured, then dropped (RFC 9110 §9.3.2)
    std::size_t rest_bytes = 0;     // of the body, which the caller sends behind `out`
    std::string_view content_type;  // left out when empty or when there is no body
    std::string_view date;          // from date_cache; left out when empty
    // Of usual_begin for the same second; it stands for status, content_type and date where there
    // is a body, so they must be what it says.
    std::string_view usual;
    std::string_view allow;       // methods of a 405, e.g. "POST, OPTIONS"; left out when empty
    std::string_view request_id;  // X-Request-Id: visible ASCII; left out when empty
    std::span<const header_line> extra;
};

// Completes the reply in `out`, whose whole content is the body (it may be empty), by writing the
// head in front of it. Without a body it says Content-Length: 0 and no Content-Type; 1xx, 204 and
// 304 get neither length nor body (RFC 9110 §8.6).
// REQUIRES: `out` has a head gap of head_gap_bytes or more and nothing has been prepended to it;
// `extra` holds no field that the writer itself writes.
void write_head(base::byte_buffer& out, const response_spec& spec) noexcept;

// Appends the head of an event stream: text/event-stream, not to be stored or buffered by
// proxies; chunked in HTTP/1.1, delimited by the end of the connection in HTTP/1.0. Returns whether
// what follows must be chunked. spec.status, keep_alive (HTTP/1.1 only), date and extra are used;
// content_type, allow and head_request are not.
bool write_chunked_head(base::byte_buffer& out, const response_spec& spec) noexcept;

}  // namespace pillion::http
