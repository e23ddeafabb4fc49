// ASCII character classes and comparisons without locale, for protocol text (RFC 9110 §5.6).
//
// Everything here looks at bytes: bytes from 0x80 on belong to no class and have no case.
// Thread-safety: pure functions over constants; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pillion::base {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
constexpr bool is_alpha(char c) noexcept { return is_upper(c) || (c >= 'a' && c <= 'z'); }
constexpr bool is_alnum(char c) noexcept { return is_alpha(c) || is_digit(c); }

// OWS and BWS of RFC 9110 §5.6.3: space and horizontal tab, nothing else.
constexpr bool is_ows(char c) noexcept { return c == ' ' || c == '\t'; }

// C0 controls except horizontal tab, and DEL: what a field value must not hold (RFC 9110 §5.5).
constexpr bool is_control(char c) noexcept {
    const auto b = static_cast<unsigned char>(c);
    return (b < 0x20 && b != '\t') || b == 0x7f;
}

// `c` with A–Z mapped to a–z, other bytes unchanged.
constexpr char to_lower(char c) noexcept {
    return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
}

inline constexpr char hex_digits[] = "0123456789abcdef";

// The value of a hexadecimal digit, or -1.
constexpr int hex_digit(char c) noexcept {
    if (is_digit(c)) {
        return c - '0';
    }
    const char low = to_lower(c);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

namespace detail {

constexpr std::array<char, 256> make_token_lower() noexcept {
    std::array<char, 256> table{};
    for (int i = 0; i < 128; ++i) {
        const char c = static_cast<char>(i);
        if (is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos) {
            table[static_cast<std::size_t>(i)] = to_lower(c);
        }
    }
    table[0] = 0;
    return table;
}

}  // namespace detail

// tchar of RFC 9110 §5.6.2: maps a token character to its lower case, any other byte to 0. One
// table does both so that a header name is checked and folded in the same pass.
inline constexpr std::array<char, 256> token_lower = detail::make_token_lower();

constexpr bool is_token_char(char c) noexcept {
    return token_lower[static_cast<unsigned char>(c)] != 0;
}

// True for a non-empty run of token characters.
bool is_token(std::string_view text) noexcept;

// True when `text` may stand as a field value: no control bytes but tab (RFC 9110 §5.5). The empty
// value is one.
bool is_field_value(std::string_view text) noexcept;

// True when there is no byte from 0x80 on.
bool is_ascii(std::string_view text) noexcept;

// Equality that ignores the case of A–Z.
bool equals_ignore_case(std::string_view a, std::string_view b) noexcept;

// `text` without leading and trailing space and tab. The view keeps pointing into `text`.
constexpr std::string_view trim_ows(std::string_view text) noexcept {
    while (!text.empty() && is_ows(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_ows(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

// Cuts the first element off a comma-separated list (RFC 9110 §5.6.1) and returns it trimmed;
// `list` is left with what follows the comma, empty after the last element. Quoted strings are not
// understood: for lists of plain tokens only.
std::string_view next_list_element(std::string_view& list) noexcept;

// True when the comma-separated list of tokens `list` holds `token`, ignoring case.
bool list_has_token(std::string_view list, std::string_view token) noexcept;

// Reads 1*DIGIT into `value`. False (value untouched) when `text` is empty, holds anything but
// digits, or exceeds 64 bits.
bool parse_decimal(std::string_view text, std::uint64_t& value) noexcept;

}  // namespace pillion::base
