// Incremental decoder of the chunked transfer coding (RFC 9112 §7.1), strict.
//
// A state machine over bytes: the result does not depend on how the body was cut into packets.
// Decoded bytes are never more than the bytes read, so a body may be decoded onto itself.
//
// Thread-safety: an ordinary object; one per message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "http/head.hpp"

namespace pillion::http {

// Extension bytes in one chunk-size line, and in a whole body: extensions are legal and useless,
// unbounded they are a way to make us read without end.
inline constexpr std::size_t chunk_extension_bytes_max = 256;
inline constexpr std::size_t chunk_extensions_bytes_max = 4096;
// All trailer fields of a body with their line ends.
inline constexpr std::size_t trailer_bytes_max = 4096;

// What one feed() did.
struct chunk_outcome {
    parse_state state = parse_state::need_more;
    std::uint16_t status =
        0;  // on failed: 400 malformed, 413 body too large, 431 trailers too large
    const char* reason = "";   // constant text, on failed
    std::size_t consumed = 0;  // bytes of the input that belong to the body
    std::size_t produced = 0;  // bytes written to the output
};

class chunk_decoder {
 public:
    // A decoder of one body of at most `body_bytes_max` decoded bytes.
    explicit chunk_decoder(std::uint64_t body_bytes_max) noexcept : left_(body_bytes_max) {}

    // Decodes in[0..size) and writes the data to `out`, which has room for `size` bytes; `out` may
    // be `in` or any place before it in the same memory. need_more: everything was consumed.
    // complete: the last chunk and the trailers have been read; the bytes behind `consumed` belong
    // to the next message. Trailer fields are checked and dropped, whatever their name: no rule of
    // ours needs one, and RFC 9110 §6.5.1 forbids to merge most of them.
    // After complete or failed the decoder must not be fed again.
    chunk_outcome feed(const char* in, std::size_t size, char* out) noexcept;

 private:
    enum class step : std::uint8_t {
        size_first,
        size,
        extension_blank,  // blanks behind the size: only a ';' may follow
        extension,
        size_lf,
        data,
        data_cr,
        data_lf,
        trailer_first,
        trailer_name,
        trailer_value,
        trailer_lf,
        last_lf,
        finished,
    };

    // Takes one framing byte. nullptr, or the reason of a failure (status in status_).
    const char* take(char c) noexcept;
    const char* take_size(char c) noexcept;
    const char* take_extension(char c) noexcept;
    const char* end_size_line(char c) noexcept;
    const char* take_trailer(char c) noexcept;
    const char* fail(std::uint16_t status, const char* reason) noexcept {
        status_ = status;
        return reason;
    }

    std::uint64_t left_;       // decoded bytes that may still come
    std::uint64_t chunk_ = 0;  // bytes of the current chunk still to come
    std::uint32_t trailer_bytes_ = 0;
    std::uint32_t extensions_bytes_ = 0;
    std::uint16_t extension_bytes_ = 0;
    std::uint16_t status_ = 400;
    std::uint8_t digits_ = 0;
    step step_ = step::size_first;
};

}  // namespace pillion::http
