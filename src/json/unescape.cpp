#include "json/unescape.hpp"

#include <array>
#include <cstddef>

#include "base/utf8.hpp"

namespace pillion::json {

namespace {

using outcome = unescaped::outcome;

constexpr std::array<char, 256> short_escapes = [] {
    std::array<char, 256> table{};
    table['"'] = '"';
    table['\\'] = '\\';
    table['/'] = '/';
    table['b'] = '\b';
    table['f'] = '\f';
    table['n'] = '\n';
    table['r'] = '\r';
    table['t'] = '\t';
    return table;
}();

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

struct code_unit {
    std::uint32_t value;
    outcome what;
};

// The four hex digits behind "\u".
code_unit read_unit(const char* at, const char* end) noexcept {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at) {
        if (at == end) {
            return {0, outcome::cut_short};
        }
        const int digit = hex_digit(*at);
        if (digit < 0) {
            return {0, outcome::malformed};
        }
        value = value << 4 | static_cast<std::uint32_t>(digit);
    }
    return {value, outcome::ok};
}

unescaped unescape_unicode(const char* at, const char* end, char* out) noexcept {
    const code_unit first = read_unit(at + 2, end);
    if (first.what != outcome::ok) {
        return {first.what, 0, 0};
    }
    if (first.value < 0xD800 || first.value > 0xDFFF) {
        return {outcome::ok, 6, static_cast<std::uint8_t>(base::utf8::encode(first.value, out))};
    }
    if (first.value >= 0xDC00) {
        return {outcome::lone_surrogate, 0, 0};
    }
    const char* const pair = at + 6;
    if (pair == end || (*pair == '\\' && pair + 1 == end)) {
        return {outcome::cut_short, 0, 0};
    }
    if (pair[0] != '\\' || pair[1] != 'u') {
        return {outcome::lone_surrogate, 0, 0};
    }
    const code_unit second = read_unit(pair + 2, end);
    if (second.what != outcome::ok) {
        return {second.what, 0, 0};
    }
    if (second.value < 0xDC00 || second.value > 0xDFFF) {
        return {outcome::lone_surrogate, 0, 0};
    }
    const std::uint32_t scalar = 0x10000 + ((first.value - 0xD800) << 10) + (second.value - 0xDC00);
    return {outcome::ok, 12, static_cast<std::uint8_t>(base::utf8::encode(scalar, out))};
}

}  // namespace

unescaped unescape(const char* at, const char* end, char* out) noexcept {
    if (at + 1 == end) {
        return {outcome::cut_short, 0, 0};
    }
    if (at[1] == 'u') {
        return unescape_unicode(at, end, out);
    }
    const char plain = short_escapes[static_cast<unsigned char>(at[1])];
    if (plain == '\0') {
        return {outcome::malformed, 0, 0};
    }
    *out = plain;
    return {outcome::ok, 2, 1};
}

}  // namespace pillion::json
