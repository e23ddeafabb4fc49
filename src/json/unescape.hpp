// unescape: one backslash escape of a JSON string to UTF-8 (RFC 8259 §7).
//
// Thread-safety: any thread; no state.
#pragma once

#include <array>
#include <cstdint>

namespace pillion::json {

struct unescaped {
    enum class outcome : std::uint8_t { ok, cut_short, malformed, lone_surrogate };
    outcome what;
    std::uint8_t read;     // bytes of the escape, a surrogate pair counts as one escape
    std::uint8_t written;  // bytes of UTF-8, fewer than `read`
};

namespace detail {

// What stands for itself or for a control character behind a backslash, 0 for all else.
inline constexpr std::array<char, 256> short_escapes = [] {
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

unescaped unescape_unicode(const char* at, const char* end, char* out) noexcept;

}  // namespace detail

// Decodes the escape at `at` (a backslash before `end`) into `out`, which may be `at` itself or lie
// before it in the same buffer. cut_short: the input ends within the escape. REQUIRES: one readable
// byte behind `end`.
inline unescaped unescape(const char* at, const char* end, char* out) noexcept {
    const char plain = detail::short_escapes[static_cast<unsigned char>(at[1])];
    if (plain == '\0' || at + 1 == end) {
        return detail::unescape_unicode(at, end, out);
    }
    *out = plain;
    return {unescaped::outcome::ok, 2, 1};
}

}  // namespace pillion::json
