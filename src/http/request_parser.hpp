// Parser of HTTP/1 request heads (RFC 9110, RFC 9112): zero-copy, incremental, strict.
//
// It takes the bytes received so far and either has a whole head, wants more, or knows the status
// of the refusal. The verdict depends on the bytes alone, never on how they were cut into packets.
// Where an RFC leaves a recipient the choice between repair and refusal we refuse: what two
// implementations repair differently is a request-smuggling hole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"
#include "http/head.hpp"

namespace pillion::http {

struct head_limits {
    std::size_t bytes_max = limits::head_bytes_max;
    std::size_t fields_max = limits::headers_max;
    std::size_t target_bytes_max = limits::target_bytes_max;
};

// Parses the head at data[0..size) into `out`.
//
// `scanned_before`: the `size` of the previous call that answered need_more for the same bytes
// (0 at first); it spares reading them again, so that a peer who sends byte by byte costs O(n).
//
// complete: `out` is filled and out.bytes bytes belong to the head. need_more: call again when
// there are more bytes. failed: `status` is one of
//   400 malformed, contradictory framing, missing or repeated Host, bad target
//   414 target longer than allowed
//   417 an expectation other than 100-continue
//   431 head longer, or with more fields, than allowed
//   501 method longer than 32 bytes, CONNECT, or a transfer coding we do not have
//   505 an HTTP major version other than 1
// `out` is unspecified unless complete.
//
// Lower-cases field names in place (also in heads that are then found incomplete). Reads up to
// limits::padding bytes past `size`, which must be readable. The views of `out` point into `data`.
// Not its business: Content-Length against the body limit, Content-Encoding, which methods exist.
// Thread-safety: any thread; it touches its arguments only.
// REQUIRES: `most` within limits::head_bytes_most and headers_most, and the same in every call for
// one head.
parse_outcome parse_request_head(char* data, std::size_t size, std::size_t scanned_before,
                                 request_head& out, const head_limits& most = {}) noexcept;

}  // namespace pillion::http
