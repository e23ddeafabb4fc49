// shard_digits: two lower-case hexadecimal digits in an id that say which shard knows what it
// names. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/ascii.hpp"

namespace pillion::mcp {

inline void put_shard(char* two, std::size_t shard) noexcept {
    two[0] = base::hex_digits[shard >> 4U & 15U];
    two[1] = base::hex_digits[shard & 15U];
}

// Of the first two characters; ids are compared as they are, so there is no other case.
inline std::optional<std::size_t> read_shard(std::string_view text) noexcept {
    if (text.size() < 2 || base::is_upper(text[0]) || base::is_upper(text[1])) {
        return std::nullopt;
    }
    const int high = base::hex_digit(text[0]);
    const int low = base::hex_digit(text[1]);
    if (high < 0 || low < 0) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(high * 16 + low);
}

}  // namespace pillion::mcp
