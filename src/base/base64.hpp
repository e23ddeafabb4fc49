// base64: RFC 4648 encoding and strict decoding, standard (§4) and URL-safe (§5) alphabets.
//
// Strict means one text per value: no white space, no foreign characters, padding exactly where
// the form has it, unused bits zero (RFC 4648 §3.5). Sealed cursors rely on that.
//
// Thread-safety: any thread; the functions keep no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/byte_buffer.hpp"

namespace pillion::base::base64 {

enum class form : std::uint8_t {
    standard,    // '+' '/', padded
    url,         // '-' '_', never padded (JWT, cursors)
    url_padded,  // '-' '_', padded
};

// Bytes of text for `size` bytes of data.
constexpr std::size_t encoded_size(std::size_t size, form f = form::standard) noexcept {
    return f == form::url ? (size * 4 + 2) / 3 : (size + 2) / 3 * 4;
}

// Writes the text of `bytes` at `out`, which has room for encoded_size(), and returns its size.
// `out` must not overlap `bytes`.
std::size_t encode(std::string_view bytes, char* out, form f = form::standard) noexcept;
// Appends the text of `bytes` to `out`.
void encode(std::string_view bytes, byte_buffer& out, form f = form::standard) noexcept;

// The most bytes that `size` bytes of text decode to.
constexpr std::size_t decoded_size_max(std::size_t size) noexcept { return (size + 3) / 4 * 3; }

// Writes the data of `text` at `out`, which has room for decoded_size_max(), and returns its size;
// nullopt when `text` is not exactly what encode() writes (`out` then holds rubbish). `out` may be
// text.data(): decoding in place is safe.
std::optional<std::size_t> decode(std::string_view text, char* out,
                                  form f = form::standard) noexcept;
// Appends the data of `text` to `out`; false, with `out` unchanged, when it is malformed.
bool decode(std::string_view text, byte_buffer& out, form f = form::standard) noexcept;

}  // namespace pillion::base::base64
