// unescape: one backslash escape of a JSON string to UTF-8 (RFC 8259 §7).
//
// Thread-safety: any thread; no state.
#pragma once

#include <cstdint>

namespace pillion::json {

struct unescaped {
    enum class outcome : std::uint8_t { ok, cut_short, malformed, lone_surrogate };
    outcome what;
    std::uint8_t read;     // bytes of the escape, a surrogate pair counts as one escape
    std::uint8_t written;  // bytes of UTF-8, fewer than `read`
};

// Decodes the escape at `at` (a backslash before `end`) into `out`, which may be `at` itself or lie
// before it in the same buffer. cut_short: the input ends within the escape.
unescaped unescape(const char* at, const char* end, char* out) noexcept;

}  // namespace pillion::json
