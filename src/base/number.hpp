// number: exact conversions between numbers and decimal text.
//
// The grammar is that of JSON (RFC 8259 §6) throughout: no leading '+', no leading zeros, no hex,
// no infinities. The locale plays no part. Nothing here allocates.
//
// Thread-safety: any thread; the functions keep no state.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pillion::base {

// Room that the format functions need, in bytes.
inline constexpr std::size_t integer_text_max = 20;
inline constexpr std::size_t double_text_max = 32;

// Where a number ends. When `ok` is false, `end` is the byte that does not fit the grammar (or the
// end of the input).
struct number_scan {
    const char* end;
    bool ok;
    bool integer;  // neither '.' nor an exponent
};

namespace detail {

inline const char* skip_digits(const char* at, const char* end) noexcept {
    while (at != end && static_cast<unsigned char>(*at - '0') < 10) {
        ++at;
    }
    return at;
}

}  // namespace detail

// Reads the longest number at `at`. What follows it is the caller's business. Inline because the
// JSON parser calls it for every number.
inline number_scan scan_number(const char* at, const char* end) noexcept {
    if (at != end && *at == '-') {
        ++at;
    }
    const char* const digits = at;
    at = detail::skip_digits(at, end);
    if (at == digits) {
        return {at, false, false};
    }
    if (*digits == '0' && at - digits > 1) {
        return {digits + 1, false, false};
    }
    bool integer = true;
    if (at != end && *at == '.') {
        integer = false;
        const char* const fraction = at + 1;
        at = detail::skip_digits(fraction, end);
        if (at == fraction) {
            return {at, false, false};
        }
    }
    if (at != end && (*at == 'e' || *at == 'E')) {
        integer = false;
        ++at;
        if (at != end && (*at == '+' || *at == '-')) {
            ++at;
        }
        const char* const exponent = at;
        at = detail::skip_digits(exponent, end);
        if (at == exponent) {
            return {at, false, false};
        }
    }
    return {at, true, integer};
}

// The value of `text`, which must be one whole integer without fraction or exponent; nullopt when
// it is not or does not fit. "-0" is 0 (also for parse_u64).
std::optional<std::int64_t> parse_i64(std::string_view text) noexcept;
std::optional<std::uint64_t> parse_u64(std::string_view text) noexcept;

// The double nearest to `text`; nullopt when it is no number or rounds to an infinity. Numbers
// too small for a double are 0 with their sign.
std::optional<double> parse_f64(std::string_view text) noexcept;

// The value of any JSON number that is mathematically an integer ("42.0", "4.2e1") and fits;
// nullopt otherwise. Works on the digits: no rounding on the way.
std::optional<std::int64_t> parse_integral(std::string_view text) noexcept;

// Whether two JSON numbers have the same mathematical value ("1", "1.0", "10e-1"; "0" and "-0").
// Numbers with an exponent beyond ±10^17 equal only their own text.
// REQUIRES: both match the grammar.
bool same_number(std::string_view a, std::string_view b) noexcept;

// The least integer that is not below `value`, or the nearest there is. REQUIRES: not NaN.
// std::ceil() is a call into libm for x86-64's baseline, and was all that our programs took of that
// library: 0.3 MiB of a start.
inline std::int64_t round_up(double value) noexcept {
    constexpr double end = 9223372036854775808.0;  // 2^63
    if (value >= end) {
        return INT64_MAX;
    }
    if (value < -end) {
        return INT64_MIN;
    }
    const auto towards_zero = static_cast<std::int64_t>(value);
    return towards_zero + (static_cast<double>(towards_zero) < value ? 1 : 0);
}

// Writes a number at `out` and returns the end of it. The integer forms need integer_text_max
// bytes, the double double_text_max.
inline char* format(char* out, std::int64_t value) noexcept {
    return std::to_chars(out, out + integer_text_max, value).ptr;
}
inline char* format(char* out, std::uint64_t value) noexcept {
    return std::to_chars(out, out + integer_text_max, value).ptr;
}
// The shortest text that reads back as the same double. REQUIRES: `value` is finite.
char* format(char* out, double value) noexcept;

}  // namespace pillion::base
