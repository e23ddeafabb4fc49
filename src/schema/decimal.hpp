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
