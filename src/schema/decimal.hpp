// decimal: JSON numbers of any size and precision, compared and divided exactly.
//
// A decimal is a view of the number's text, so making one costs a scan and no memory. Exponents
// beyond ±10^15 are clamped there.
//
// Thread-safety: ordinary values over text that the caller keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pillion::schema_check {

// The value is 0.d1d2d3… × 10^exponent; d1 and the last digit are not 0.
struct decimal {
    std::string_view digits{};  // significant digits, a point may be among them; empty for zero
    std::int64_t count = 0;     // how many
    std::int64_t exponent = 0;
    bool negative = false;

    // REQUIRES: `number` matches the grammar of JSON.
    static decimal parse(std::string_view number) noexcept;

    bool zero() const noexcept { return count == 0; }
    // Whether the value is an integer ("42", "42.0", "4.2e1").
    bool integral() const noexcept { return count == 0 || exponent >= count; }
};

// Less than, equal to or greater than 0, as a is to b.
int compare(const decimal& a, const decimal& b) noexcept;

// A number as most are: at most 18 digits and no exponent, so that it fits a word. The value is
// mantissa / 10^scale.
struct short_decimal {
    std::int64_t mantissa = 0;
    std::int32_t scale = -1;

    // Not valid() when `number` is none of these. REQUIRES: `number` matches the grammar of JSON.
    static short_decimal parse(std::string_view number) noexcept {
        constexpr std::size_t text_max = 19;  // 18 digits and a point
        short_decimal out;
        const bool negative = number.starts_with('-');
        number.remove_prefix(negative ? 1 : 0);
        std::uint64_t value = 0;  // holds 19 digits, which are one too many below
        std::int32_t digits = 0;
        std::int32_t point = -1;
        if (number.size() > text_max) {
            return out;
        }
        for (const char c : number) {
            if (c >= '0' && c <= '9') {
                value = value * 10 + static_cast<std::uint64_t>(c - '0');
                ++digits;
            } else if (c == '.') {
                point = digits;
            } else {
                return out;
            }
        }
        if (digits <= 18) {
            const auto magnitude = static_cast<std::int64_t>(value);
            out.mantissa = negative ? -magnitude : magnitude;
            out.scale = point < 0 ? 0 : digits - point;
        }
        return out;
    }
    bool valid() const noexcept { return scale >= 0; }
};

// As above. REQUIRES: both are valid.
int compare_scaled(short_decimal a, short_decimal b) noexcept;
inline int compare(short_decimal a, short_decimal b) noexcept {
    if (a.scale != b.scale && a.mantissa != 0 && b.mantissa != 0) {
        return compare_scaled(a, b);
    }
    return a.mantissa < b.mantissa ? -1 : (a.mantissa > b.mantissa ? 1 : 0);
}

// A positive number to divide by: mantissa × 10^exponent.
struct divisor {
    std::uint64_t mantissa = 1;
    std::int64_t exponent = 0;

    // nullopt when `number` is not above zero or has more than 18 significant digits.
    static std::optional<divisor> make(const decimal& number) noexcept;
};

// Whether `value` is an integer times `by`, without rounding.
bool is_multiple(const decimal& value, const divisor& by) noexcept;

}  // namespace pillion::schema_check
