// utf8: validation and repair of UTF-8 text (RFC 3629: no overlong forms, no surrogates, nothing
// above U+10FFFF).
//
// Text from a peer is validated once, where it enters; text from the operating system, a file or
// an upstream is repaired where it leaves. Nothing here allocates except into the given sink.
//
// Thread-safety: any thread; the functions keep no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/arena.hpp"

namespace pillion::base::utf8 {

// U+FFFD, which stands for what could not be decoded.
inline constexpr std::string_view replacement = "\xEF\xBF\xBD";

// The implementations of valid_prefix(). All give the same answers; tests compare them.
enum class variant : std::uint8_t { scalar, avx2 };

// Whether this machine can run `v`.
bool available(variant v) noexcept;

// Bytes at the start of `text` that are complete, well-formed sequences. Equals text.size() when
// all of it is valid; otherwise it is the offset of the first byte of the first bad sequence.
std::size_t valid_prefix(std::string_view text) noexcept;
// The same by one implementation. REQUIRES: available(v).
std::size_t valid_prefix(std::string_view text, variant v) noexcept;

// Whether all of `text` is well-formed. Empty text is.
inline bool validate(std::string_view text) noexcept { return valid_prefix(text) == text.size(); }

// Bytes of the bad sequence `text` starts with: its "maximal subpart" (Unicode 15 §3.9, D93b),
// the run that one replacement character stands for. REQUIRES: text is not empty and
// valid_prefix(text) == 0.
std::size_t invalid_length(std::string_view text) noexcept;

// Encodes a scalar value into `out` (room for 4 bytes) and returns how many bytes it took.
// REQUIRES: `scalar` <= U+10FFFF and not a surrogate.
inline std::size_t encode(std::uint32_t scalar, char* out) noexcept {
    if (scalar < 0x80) {
        out[0] = static_cast<char>(scalar);
        return 1;
    }
    if (scalar < 0x800) {
        out[0] = static_cast<char>(0xC0 | (scalar >> 6));
        out[1] = static_cast<char>(0x80 | (scalar & 0x3F));
        return 2;
    }
    if (scalar < 0x10000) {
        out[0] = static_cast<char>(0xE0 | (scalar >> 12));
        out[1] = static_cast<char>(0x80 | ((scalar >> 6) & 0x3F));
        out[2] = static_cast<char>(0x80 | (scalar & 0x3F));
        return 3;
    }
    out[0] = static_cast<char>(0xF0 | (scalar >> 18));
    out[1] = static_cast<char>(0x80 | ((scalar >> 12) & 0x3F));
    out[2] = static_cast<char>(0x80 | ((scalar >> 6) & 0x3F));
    out[3] = static_cast<char>(0x80 | (scalar & 0x3F));
    return 4;
}

// Calls `valid(std::string_view)` for every well-formed run of `text` and `invalid()` for every
// bad sequence between them, in order.
template <class Valid, class Invalid>
void split(std::string_view text, Valid&& valid, Invalid&& invalid) {
    while (!text.empty()) {
        const std::size_t good = valid_prefix(text);
        if (good > 0) {
            valid(text.substr(0, good));
        }
        text.remove_prefix(good);
        if (!text.empty()) {
            invalid();
            text.remove_prefix(invalid_length(text));
        }
    }
}

// Appends `text` to `out` (anything with append(std::string_view)), every bad sequence replaced
// by U+FFFD. What is appended is valid UTF-8.
template <class Sink>
void sanitize(std::string_view text, Sink& out) {
    split(text, [&](std::string_view run) { out.append(run); }, [&] { out.append(replacement); });
}

// `text` itself when it is valid, else a repaired copy that lives as long as `memory`.
std::string_view sanitize(std::string_view text, arena& memory) noexcept;

}  // namespace pillion::base::utf8
