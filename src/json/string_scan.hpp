// string_scan: the two searches a JSON parser spends its time in: the end of a run of plain string
// bytes, and the end of white space.
//
// Three implementations that give identical results: portable (8 bytes a step), SSE2 (every
// x86-64) and AVX2 (chosen at run time). REQUIRES everywhere: scan_padding readable bytes behind
// `end`; what they hold does not matter, and they are never written.
//
// Thread-safety: any thread; the functions keep no state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"

namespace pillion::json {

inline constexpr std::size_t scan_padding = limits::padding;

enum class scan_variant : std::uint8_t { portable, sse2, avx2 };

// Whether this build and machine can run `v`.
bool available(scan_variant v) noexcept;

// `end`: the first '"', '\\' or byte below 0x20, or the end of the input.
// `non_ascii`: whether a byte of 0x80 or above lies before it.
struct string_run {
    const char* end;
    bool non_ascii;
};
string_run find_string_end(const char* at, const char* end) noexcept;
// The same by one implementation. REQUIRES: available(v).
string_run find_string_end(const char* at, const char* end, scan_variant v) noexcept;

// find_string_end() that also moves the run down to `out`, for strings with escapes. REQUIRES:
// `out` lies before `at` in the same buffer (or is `at`). Bytes from `out` up to the moved end
// change, nothing else does.
string_run move_string_run(const char* at, const char* end, char* out) noexcept;
// The same by one implementation. REQUIRES: available(v).
string_run move_string_run(const char* at, const char* end, char* out, scan_variant v) noexcept;

// The first byte that is not a space, tab, line feed or carriage return, or `end`.
const char* find_token(const char* at, const char* end) noexcept;
// The same by one implementation. REQUIRES: available(v).
const char* find_token(const char* at, const char* end, scan_variant v) noexcept;

// find_token() for the places where white space is rare (compact JSON): two bytes are looked at
// before the call is worth it.
inline const char* skip_whitespace(const char* at, const char* end) noexcept {
    if (at == end || static_cast<unsigned char>(*at) > ' ') {
        return at;
    }
    if (*at == ' ' && at + 1 != end && static_cast<unsigned char>(at[1]) > ' ') {
        return at + 1;
    }
    return find_token(at, end);
}

}  // namespace pillion::json
