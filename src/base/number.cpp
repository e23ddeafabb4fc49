#include "base/number.hpp"

#include <cmath>
#include <limits>

#include "base/assert.hpp"

namespace pillion::base {

namespace {

constexpr std::int64_t exponent_max = 100'000'000'000'000'000;  // 10^17, far from overflow

// A number as 0.d1d2…dn × 10^point with d1 and dn not zero; no digits at all is zero.
// The digits lie in `text`, perhaps with a '.' among them.
struct decimal {
    std::string_view digits;
    std::size_t count = 0;  // digits without the '.'
    std::int64_t point = 0;
    bool negative = false;
    bool exact = true;  // false: the exponent was too large to follow
};

// The exponent behind 'e'; sets `exact` to false instead of overflowing.
std::int64_t read_exponent(std::string_view text, bool& exact) noexcept {
    const bool negative = text[0] == '-';
    std::int64_t value = 0;
    for (const char c : text.substr(negative || text[0] == '+' ? 1 : 0)) {
        value = value * 10 + (c - '0');
        if (value > exponent_max) {
            exact = false;
            return 0;
        }
    }
    return negative ? -value : value;
}

// REQUIRES: `text` matches the grammar.
decimal read_decimal(std::string_view text) noexcept {
    decimal d;
    if (text[0] == '-') {
        d.negative = true;
        text.remove_prefix(1);
    }
    const std::size_t e = text.find_first_of("eE");
    const std::string_view mantissa = text.substr(0, e);
    const std::size_t first = mantissa.find_first_not_of("0.");
    if (first == std::string_view::npos) {
        return d;
    }
    const std::size_t last = mantissa.find_last_not_of("0.");
    const std::size_t dot = mantissa.find('.');
    const std::size_t whole = dot == std::string_view::npos ? mantissa.size() : dot;
    d.digits = mantissa.substr(first, last - first + 1);
    d.count = d.digits.size() - (first < whole && last > whole ? 1 : 0);
    // The first digit is the (whole - first)th before the point, or lies behind the point.
    d.point = static_cast<std::int64_t>(whole) - static_cast<std::int64_t>(first) +
              (first > whole ? 1 : 0);
    if (e != std::string_view::npos) {
        d.point += read_exponent(text.substr(e + 1), d.exact);
    }
    return d;
}

bool same_digits(std::string_view a, std::string_view b) noexcept {
    std::size_t j = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] == '.') {
            continue;
        }
        if (b[j] == '.') {
            ++j;
        }
        if (a[i] != b[j]) {
            return false;
        }
        ++j;
    }
    return true;
}

bool is_number(std::string_view text, bool integer_only) noexcept {
    const char* const end = text.data() + text.size();
    const number_scan scan = scan_number(text.data(), end);
    return scan.ok && scan.end == end && (scan.integer || !integer_only);
}

template <class Integer>
std::optional<Integer> parse_integer(std::string_view text) noexcept {
    if (!is_number(text, true)) {
        return std::nullopt;
    }
    if (text == "-0") {
        return Integer{0};
    }
    Integer value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, ec] = std::from_chars(text.data(), end, value);
    if (ec != std::errc{} || at != end) {
        return std::nullopt;
    }
    return value;
}

// Decimals of which both the digits and the power of ten are exact doubles, as most are: one
// division rounds once, hence correctly (Clinger, "How to read floating point numbers accurately",
// 1990). nullopt for all others, and for what does not match the grammar.
std::optional<double> parse_simple(std::string_view text) noexcept {
    constexpr double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    constexpr std::ptrdiff_t digits_max = 15;  // below 2^53
    const char* at = text.data();
    const char* const end = at + text.size();
    const bool negative = at != end && *at == '-';
    at += negative ? 1 : 0;
    std::uint64_t value = 0;
    const auto read = [&](const char* from) {
        while (at != end && static_cast<unsigned char>(*at - '0') < 10 && at - from <= digits_max) {
            value = value * 10 + static_cast<std::uint64_t>(*at++ - '0');
        }
        return at - from;
    };
    const char* const first = at;
    const std::ptrdiff_t whole = read(at);
    std::ptrdiff_t fraction = 0;
    if (at != end && *at == '.') {
        ++at;
        fraction = read(at);
        if (fraction == 0) {
            return std::nullopt;
        }
    }
    if (at != end || whole == 0 || whole + fraction > digits_max || (*first == '0' && whole > 1)) {
        return std::nullopt;
    }
    const double exact = static_cast<double>(value) / powers[fraction];
    return negative ? -exact : exact;
}

}  // namespace

std::optional<std::int64_t> parse_i64(std::string_view text) noexcept {
    return parse_integer<std::int64_t>(text);
}

std::optional<std::uint64_t> parse_u64(std::string_view text) noexcept {
    return parse_integer<std::uint64_t>(text);
}

std::optional<double> parse_f64(std::string_view text) noexcept {
    if (const std::optional<double> simple = parse_simple(text)) {
        return simple;
    }
    if (!is_number(text, false)) {
        return std::nullopt;
    }
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, ec] = std::from_chars(text.data(), end, value);
    if (ec == std::errc{}) {
        return value;
    }
    // from_chars says "out of range" for both ends of the range.
    const decimal d = read_decimal(text);
    const bool small = d.exact ? d.point < 0
                               : text.find("e-") != std::string_view::npos ||
                                     text.find("E-") != std::string_view::npos;
    if (!small && d.count > 0) {
        return std::nullopt;
    }
    return d.negative ? -0.0 : 0.0;
}

std::optional<std::int64_t> parse_integral(std::string_view text) noexcept {
    if (!is_number(text, false)) {
        return std::nullopt;
    }
    const decimal d = read_decimal(text);
    if (d.count == 0) {
        return 0;
    }
    constexpr std::int64_t digits_max = 19;
    if (!d.exact || d.point > digits_max || d.point < static_cast<std::int64_t>(d.count)) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char c : d.digits) {
        if (c != '.') {
            value = value * 10 + static_cast<std::uint64_t>(c - '0');
        }
    }
    for (auto zeros = d.point - static_cast<std::int64_t>(d.count); zeros > 0; --zeros) {
        value *= 10;
    }
    constexpr std::uint64_t top = std::uint64_t{1} << 63;
    if (value > top || (value == top && !d.negative)) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(d.negative ? ~value + 1 : value);
}

bool same_number(std::string_view a, std::string_view b) noexcept {
    if (a == b) {
        return true;
    }
    const decimal x = read_decimal(a);
    const decimal y = read_decimal(b);
    if (x.count == 0 || y.count == 0) {
        return x.count == y.count;
    }
    return x.exact && y.exact && x.negative == y.negative && x.point == y.point &&
           x.count == y.count && same_digits(x.digits, y.digits);
}

char* format(char* out, double value) noexcept {
    PILLION_ASSERT(std::isfinite(value));
    return std::to_chars(out, out + double_text_max, value).ptr;
}

}  // namespace pillion::base
