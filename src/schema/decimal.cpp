#include "schema/decimal.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"

namespace pillion::schema_check {

namespace {

__extension__ using wide = unsigned __int128;

constexpr std::int64_t exponent_max = 1'000'000'000'000'000;
constexpr std::int64_t divisor_digits_max = 18;

// The number behind 'e', clamped.
std::int64_t parse_exponent(std::string_view text) noexcept {
    const bool negative = text.starts_with('-');
    std::int64_t value = 0;
    for (const char c : text) {
        if (base::is_digit(c)) {
            value = std::min(value * 10 + (c - '0'), exponent_max);
        }
    }
    return negative ? -value : value;
}

std::uint64_t multiply(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) noexcept {
    return static_cast<std::uint64_t>(static_cast<wide>(a) * b % modulus);
}

// 10^exponent modulo `modulus`.
std::uint64_t power_of_ten(std::int64_t exponent, std::uint64_t modulus) noexcept {
    std::uint64_t result = 1 % modulus;
    std::uint64_t factor = 10 % modulus;
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            result = multiply(result, factor, modulus);
        }
        factor = multiply(factor, factor, modulus);
    }
    return result;
}

// Without regard to the signs. Both have the same exponent and are not zero.
int compare_digits(std::string_view a, std::string_view b) noexcept {
    for (;;) {
        if (a.starts_with('.')) {
            a.remove_prefix(1);
        }
        if (b.starts_with('.')) {
            b.remove_prefix(1);
        }
        if (a.empty() || b.empty()) {
            return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
        }
        if (a.front() != b.front()) {
            return a.front() < b.front() ? -1 : 1;
        }
        a.remove_prefix(1);
        b.remove_prefix(1);
    }
}

}  // namespace

decimal decimal::parse(std::string_view number) noexcept {
    decimal out;
    out.negative = number.starts_with('-');
    number.remove_prefix(out.negative ? 1 : 0);
    const std::size_t e = std::min(number.find('e'), number.find('E'));
    std::string_view mantissa = number.substr(0, e);
    const std::int64_t scale =
        e == std::string_view::npos ? 0 : parse_exponent(number.substr(e + 1));
    const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
    const std::size_t first = mantissa.find_first_not_of("0.");
    if (first == std::string_view::npos) {
        out.negative = false;
        return out;
    }
    const std::size_t last = mantissa.find_last_not_of("0.");
    out.digits = mantissa.substr(first, last - first + 1);
    const bool point_inside = out.digits.find('.') != std::string_view::npos;
    out.count = static_cast<std::int64_t>(out.digits.size()) - (point_inside ? 1 : 0);
    const auto start = static_cast<std::int64_t>(first);
    // Digits before the point, or (negative) zeros behind it.
    const std::int64_t magnitude = start < point ? point - start : point + 1 - start;
    out.exponent = magnitude + scale;
    return out;
}

int compare(const decimal& a, const decimal& b) noexcept {
    const int sign_a = a.zero() ? 0 : (a.negative ? -1 : 1);
    const int sign_b = b.zero() ? 0 : (b.negative ? -1 : 1);
    if (sign_a != sign_b || sign_a == 0) {
        return sign_a - sign_b;
    }
    if (a.exponent != b.exponent) {
        return a.exponent < b.exponent ? -sign_a : sign_a;
    }
    return sign_a * compare_digits(a.digits, b.digits);
}

int compare_scaled(short_decimal a, short_decimal b) noexcept {
    __extension__ using signed_wide = __int128;
    constexpr auto powers = [] {
        std::array<std::int64_t, 19> all{1};
        for (std::size_t i = 1; i < all.size(); ++i) {
            all[i] = all[i - 1] * 10;
        }
        return all;
    }();
    const auto power = [&](std::int32_t scale) {
        return powers[static_cast<std::size_t>(std::max(scale, 0))];
    };
    const signed_wide x = static_cast<signed_wide>(a.mantissa) * power(b.scale - a.scale);
    const signed_wide y = static_cast<signed_wide>(b.mantissa) * power(a.scale - b.scale);
    return x < y ? -1 : (x > y ? 1 : 0);
}

std::optional<divisor> divisor::make(const decimal& number) noexcept {
    if (number.zero() || number.negative || number.count > divisor_digits_max) {
        return std::nullopt;
    }
    divisor out;
    out.mantissa = 0;
    for (const char c : number.digits) {
        if (c != '.') {
            out.mantissa = out.mantissa * 10 + static_cast<std::uint64_t>(c - '0');
        }
    }
    out.exponent = number.exponent - number.count;
    return out;
}

bool is_multiple(const decimal& value, const divisor& by) noexcept {
    if (value.zero()) {
        return true;
    }
    // value / by = M × 10^shift / D with integers M and D. M does not end in 0, so a negative
    // shift leaves a fraction.
    const std::int64_t shift = value.exponent - value.count - by.exponent;
    if (shift < 0) {
        return false;
    }
    std::uint64_t rest = 0;
    for (const char c : value.digits) {
        if (c != '.') {
            rest = (rest * 10 + static_cast<std::uint64_t>(c - '0')) % by.mantissa;
        }
    }
    return multiply(rest, power_of_ten(shift, by.mantissa), by.mantissa) == 0;
}

}  // namespace pillion::schema_check
