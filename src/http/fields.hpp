// Field lines of a head and what they say about the body: shared by the request and the response
// parser so that both sides of the house frame messages by one set of rules (RFC 9112 §5, §6).
//
// Pure functions over the caller's bytes; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "http/head.hpp"

namespace pillion::http {

// Finds the CRLF of the line that starts at base[at], looking at base[at..window) only.
// complete: `end` is the index of its CR. need_more: no CR LF yet. failed: a control byte, a bare
// CR or a bare LF stands in the line (all of them 400: RFC 9112 §2.2 lets a recipient take a bare
// LF, but peers that disagree about it are how requests are smuggled).
// REQUIRES: limits::padding readable bytes behind base[window].
parse_outcome find_line_end(const char* base, std::size_t at, std::size_t window,
                            std::size_t& end) noexcept;

// Reads field lines from base[at] up to and with the blank line into `out` (already reset, same
// base), lower-casing names in place. `end` is the offset behind the blank line when complete.
// Failures: 400 malformed, 431 more fields than `out` may take. As find_line_end otherwise.
parse_outcome read_field_lines(char* base, std::size_t at, std::size_t window, head_fields& out,
                               std::size_t& end) noexcept;

// What the Transfer-Encoding fields of a message say.
enum class transfer_coding : std::uint8_t {
    absent,
    chunked,      // exactly `chunked`, once
    unsupported,  // an unknown coding below a final `chunked`
    malformed,    // anything else: not final, repeated, parameters, not a token, empty
};

// All Transfer-Encoding fields as one list (RFC 9110 §5.3).
transfer_coding read_transfer_coding(const head_fields& fields) noexcept;

// Reads the Content-Length. False when there are several, or it is not 1*DIGIT within 64 bits; a
// list of equal values is refused too, although RFC 9112 §6.3 would let us take it.
// REQUIRES: fields.has(header_id::content_length).
bool read_content_length(const head_fields& fields, std::uint64_t& value) noexcept;

// Whether the connection persists (RFC 9112 §9.3): `close` anywhere ends it, HTTP/1.0 needs
// `keep-alive`.
bool read_keep_alive(const head_fields& fields, int minor_version) noexcept;

}  // namespace pillion::http
