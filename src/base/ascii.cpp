#include "base/ascii.hpp"

#include <algorithm>
#include <cstring>

#include "base/swar.hpp"

namespace pillion::base {

bool is_token(std::string_view text) noexcept {
    for (const char c : text) {
        if (!is_token_char(c)) {
            return false;
        }
    }
    return !text.empty();
}

namespace {

// One of the eight bytes may be a control byte: tabs are among them.
bool maybe_control(std::uint64_t word) noexcept {
    return swar::has_less(word, 0x20) || swar::has_byte(word, 0x7f);
}

// True when no byte of `text` is_bad. Eight at a time while none of them may be.
template <class Maybe, class Bad>
bool has_none(std::string_view text, Maybe maybe_bad, Bad is_bad) noexcept {
    const char* at = text.data();
    const char* const end = at + text.size();
    for (; end - at >= 8 && !maybe_bad(swar::load<std::uint64_t>(at)); at += 8) {
    }
    // The last bytes once more, with some before them.
    if (end - at < 8 && text.size() >= 8 && !maybe_bad(swar::load<std::uint64_t>(end - 8))) {
        return true;
    }
    return std::none_of(at, end, is_bad);
}

}  // namespace

bool is_field_value(std::string_view text) noexcept {
    return has_none(text, maybe_control, is_control);
}

bool is_ascii(std::string_view text) noexcept {
    return has_none(text, swar::has_high,
                    [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
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
