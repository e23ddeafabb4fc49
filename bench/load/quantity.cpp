#include "quantity.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace pillion::load {

namespace {

struct unit {
    std::string_view name;
    double factor;
};
constexpr unit durations[] = {{"ns", 1},  {"us", 1e3}, {"µs", 1e3},  {"ms", 1e6},
                              {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
constexpr double longest_ns = 7 * 24 * 3600e9;

// With three digits that count.
std::string three_digits(double number) {
    const int decimals = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
    char text[48];
    std::snprintf(text, sizeof text, "%.*f", decimals, number);
    return text;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, fault] =
        std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (text.empty() || fault != std::errc{} || stopped != end || !std::isfinite(number) ||
        std::signbit(number)) {
        return std::nullopt;
    }
    return number;
}

std::optional<std::int64_t> parse_duration_ns(std::string_view text) {
    const std::size_t digits = text.find_first_not_of("0123456789.");
    if (digits == std::string_view::npos) {
        return std::nullopt;
    }
    const std::optional<double> number = parse_number(text.substr(0, digits));
    std::string_view name = text.substr(digits);
    name.remove_prefix(name.starts_with(' ') ? 1 : 0);
    for (const unit& u : durations) {
        if (number && name == u.name && *number * u.factor <= longest_ns) {
            return std::llround(*number * u.factor);
        }
    }
    return std::nullopt;
}

std::optional<double> parse_share(std::string_view text) {
    const bool percent = text.ends_with('%');
    text.remove_suffix(percent ? 1 : 0);
    if (percent && text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    const std::optional<double> number = parse_number(text);
    return number && percent ? std::optional<double>(*number / 100) : number;
}

std::string show_duration(double ns) {
    const unit& u = ns < 999.5     ? durations[0]
                    : ns < 999.5e3 ? durations[2]
                    : ns < 999.5e6 ? durations[3]
                                   : durations[4];
    return (u.factor == 1 ? std::to_string(std::llround(ns)) : three_digits(ns / u.factor)) + " " +
           std::string(u.name);
}

std::string show_count(double number) {
    if (number < 9.95 && std::fmod(number, 1) > 0) {
        char few[32];
        std::snprintf(few, sizeof few, "%.2g", number);
        return few;
    }
    std::string text = std::to_string(std::llround(number));
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, " ");
    }
    return text;
}

std::string show_bytes(double bytes) {
    constexpr const char* names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t i = 0;
    while (bytes >= 1000 && i < 4) {
        bytes /= 1024;
        ++i;
    }
    return (i == 0 ? std::to_string(std::llround(bytes)) : three_digits(bytes)) + " " + names[i];
}

std::string right_aligned(const std::string& shown, std::size_t columns) {
    std::size_t taken = 0;
    for (const char c : shown) {
        // Not the later bytes of a character ("µ").
        taken += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
    }
    return std::string(taken < columns ? columns - taken : 0, ' ') + shown;
}

}  // namespace pillion::load
