// answer_reader: one answer over HTTP/1, from bytes as they come: interim heads, the head, a body
// by Content-Length, in chunks or until the end of the connection. All of it is bounded.
//
// Thread: its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_buffer.hpp"
#include "http/chunked.hpp"
#include "http/response_parser.hpp"

namespace pillion::client {

class answer_reader {
 public:
    enum class state : std::uint8_t { need_more, complete, malformed, too_large };

    // Reads a body of at most `body_bytes_max`; `to_head`: the answer to a HEAD request has none.
    // `field`: of the head, in lower case, which is kept; must live as long as this.
    answer_reader(base::chunk_pool& pool, std::size_t body_bytes_max, bool to_head = false,
                  std::string_view field = {}) noexcept
        : head_(pool),
          bytes_max_(body_bytes_max),
          chunks_(body_bytes_max),
          to_head_(to_head),
          wanted_(field) {}

    // Takes data[0..size), which may be changed in place. After anything but need_more nothing more
    // may be fed.
    state feed(char* data, std::size_t size);
    // The peer has finished sending: complete where that ends the body, else malformed.
    state end() const noexcept;

    // Of a complete answer.
    std::uint16_t status() const noexcept { return status_; }
    std::string& body() noexcept { return body_; }
    std::string& content_type() noexcept { return content_type_; }
    // The connection may serve another request.
    bool keep_alive() const noexcept { return keep_alive_; }
    // How long the server keeps it, as its Keep-Alive field says (timeout=N); -1: it does not.
    std::int64_t kept_s() const noexcept { return kept_s_; }
    // The value of the field that was asked for.
    std::string& field() noexcept { return field_; }
    // Everything before it is there.
    bool in_body() const noexcept { return in_body_; }
    // Retry-After in seconds (RFC 9110 §10.2.3), at most a day; 0: none, or a date.
    std::int64_t retry_after_s() const noexcept { return retry_after_s_; }

 private:
    state feed_head();
    state take_head(const http::response_head& head);
    state feed_body(char* data, std::size_t size);
    state take(const char* data, std::size_t size, bool last);

    base::byte_buffer head_;   // until it is whole; what follows is the begin of the body
    std::size_t scanned_ = 0;  // bytes of it
    std::size_t interim_ = 0;  // 1xx heads so far
    std::size_t bytes_max_;
    std::string body_;
    http::chunk_decoder chunks_;
    std::uint64_t left_ = 0;  // of a body with Content-Length
    http::body_kind kind_ = http::body_kind::none;
    std::uint16_t status_ = 0;
    bool in_body_ = false;
    bool to_head_;
    bool keep_alive_ = false;
    std::string content_type_;
    std::string_view wanted_;
    std::string field_;
    std::int64_t kept_s_ = -1;
    std::int64_t retry_after_s_ = 0;
};

}  // namespace pillion::client
