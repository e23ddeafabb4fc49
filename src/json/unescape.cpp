#include "json/unescape.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/utf8.hpp"

namespace pillion::json {

namespace {

using outcome = unescaped::outcome;

// The value of a hex digit, negative for all other bytes.
constexpr std::array<std::int8_t, 256> hex_values = [] {
    std::array<std::int8_t, 256> table{};
    table.fill(-1);
    for (int i = 0; i < 10; ++i) {
        table[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(i);
    }
    for (int i = 0; i < 6; ++i) {
        table[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(10 + i);
        table[static_cast<std::size_t>('A' + i)] = static_cast<std::int8_t>(10 + i);
    }
    return table;
}();

int hex_value(char c) noexcept { return hex_values[static_cast<unsigned char>(c)]; }

struct code_unit {
    std::uint32_t value;
    outcome what;
};

// The four hex digits behind "\u".
code_unit read_unit(const char* at, const char* end) noexcept {
    if (end - at >= 4) [[likely]] {
        const int high = hex_value(at[0]) << 4 | hex_value(at[1]);
        const int low = hex_value(at[2]) << 4 | hex_value(at[3]);
        if ((high | low) >= 0) [[likely]] {
            return {static_cast<std::uint32_t>(high << 8 | low), outcome::ok};
        }
        return {0, outcome::malformed};
    }
    const bool hex = std::all_of(at, end, [](char c) { return hex_value(c) >= 0; });
    return {0, hex ? outcome::cut_short : outcome::malformed};
}

}  // namespace

unescaped detail::unescape_unicode(const char* at, const char* end, char* out) noexcept {
    if (at + 1 == end) {
        return {outcome::cut_short, 0, 0};
    }
    if (at[1] != 'u') {
        return {outcome::malformed, 0, 0};
    }
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

}  // namespace pillion::json
