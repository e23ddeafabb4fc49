// swar: base/swar, and what cannot stand in a JSON string as it is. Thread-safety: pure functions.
#pragma once

#include <cstdint>

#include "base/swar.hpp"

namespace pillion::json::swar {

using base::swar::has_byte;
using base::swar::has_high;
using base::swar::has_less;
using base::swar::highs;
using base::swar::load;
using base::swar::ones;

// '"', '\\' and control characters.
constexpr bool has_special(std::uint64_t word) noexcept {
    return has_less(word, 0x20) || has_byte(word, '"') || has_byte(word, '\\');
}

inline bool is_special(char c) noexcept {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

}  // namespace pillion::json::swar
