#include "base/ascii.hpp"

#include <cstring>

namespace pillion::base {

bool is_token(std::string_view text) noexcept {
    for (const char c : text) {
        if (!is_token_char(c)) {
            return false;
        }
    }
    return !text.empty();
}

bool is_field_value(std::string_view text) noexcept {
    bool bad = false;
    for (const char c : text) {  // to the end: without branches, many bytes at a time
        bad |= is_control(c);
    }
    return !bad;
}

bool equals_ignore_case(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) {
        return false;
    }
    // Almost always what is the same is spelt the same.
    if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) {
        return true;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (to_lower(a[i]) != to_lower(b[i])) {
            return false;
        }
    }
    return true;
}

std::string_view next_list_element(std::string_view& list) noexcept {
    const std::size_t comma = list.find(',');
    const std::string_view element = trim_ows(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    return element;
}

bool list_has_token(std::string_view list, std::string_view token) noexcept {
    while (!list.empty()) {
        if (equals_ignore_case(next_list_element(list), token)) {
            return true;
        }
    }
    return false;
}

bool parse_decimal(std::string_view text, std::uint64_t& value) noexcept {
    if (text.empty()) {
        return false;
    }
    std::uint64_t sum = 0;
    for (const char c : text) {
        if (!is_digit(c)) {
            return false;
        }
        if (__builtin_mul_overflow(sum, std::uint64_t{10}, &sum) ||
            __builtin_add_overflow(sum, static_cast<std::uint64_t>(c - '0'), &sum)) {
            return false;
        }
    }
    value = sum;
    return true;
}

}  // namespace pillion::base
