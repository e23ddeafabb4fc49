// Parser of HTTP/1 response heads (RFC 9112 §4) for the upstream client, the load generator and
// tests. Same rules for lines, fields and framing as the request parser.
#pragma once

#include <cstddef>
#include <cstdint>

#include "http/head.hpp"

namespace pillion::http {

// How the length of a response body is known (RFC 9112 §6.3).
enum class body_kind : std::uint8_t { none, length, chunked, until_close };

// The head of a response. Filled by parse_response_head; views as in head_fields.
struct response_head : head_fields {
    response_head() noexcept {}  // NOLINT(modernize-use-equals-default): keeps the tables unset

    std::string_view reason() const noexcept { return view(reason_range); }

    text_range reason_range{};
    std::uint64_t content_length = 0;  // of the field; 0 unless has_content_length
    std::uint32_t bytes = 0;           // length of the head with its blank line
    std::uint16_t status = 0;          // 100–999
    std::uint8_t minor_version = 1;
    body_kind body = body_kind::none;
    bool has_content_length = false;
    bool keep_alive = true;  // false for a body that ends with the connection
};

// Parses the head at data[0..size). `to_head_request`: the response answers a HEAD request and has
// no body. Incremental and strict like parse_request_head, to which the parameters, the in-place
// lower-casing and the limits::padding contract are the same; `failed` sets status 502 always.
// Interim 1xx heads are heads of their own (body none): the caller goes on behind them.
parse_outcome parse_response_head(char* data, std::size_t size, std::size_t scanned_before,
                                  bool to_head_request, response_head& out) noexcept;

}  // namespace pillion::http
