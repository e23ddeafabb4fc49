// string_scan: the searches a JSON parser spends its time in: the end of a run of plain string
// bytes, the end of white space, and the number of separators.
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
// The fastest that is available.
scan_variant best_variant() noexcept;

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
// `out` lies before `at` in the same buffer (or is `at`). Bytes from `out` up to the end of the run
// change, those behind do not.
string_run move_string_run(const char* at, const char* end, char* out) noexcept;
// The same by one implementation. REQUIRES: available(v).
string_run move_string_run(const char* at, const char* end, char* out, scan_variant v) noexcept;

// The first byte that is not a space, tab, line feed or carriage return, or `end`.
const char* find_token(const char* at, const char* end) noexcept;
// The same by one implementation. REQUIRES: available(v).
const char* find_token(const char* at, const char* end, scan_variant v) noexcept;

// How many of the bytes are one of , : [ {: a value or key but the first follows one of these each.
std::size_t count_separators(const char* at, const char* end, scan_variant v) noexcept;

}  // namespace pillion::json
