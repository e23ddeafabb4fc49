// token: where a token ends, for the parser's inner loops.
//
// Thread-safety: any thread; no state.
#pragma once

#include <bit>
#include <cstdint>

#include "json/swar.hpp"

namespace pillion::json {

// The first byte at or behind `at` that is no digit; it may lie behind `end` (in its padding), as
// digits there are not told apart. Reads eight bytes at a time.
inline char* digits_end(char* at, const char* end) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        for (; at < end; at += 8) {
            const std::uint64_t word = swar::load<std::uint64_t>(at) ^ (swar::ones * '0');
            // Lanes above the first that is no digit may be wrong, which does not matter.
            const std::uint64_t others = ((word + swar::ones * 0x76) | word) & swar::highs;
            if (others != 0) {
                return at + (std::countr_zero(others) >> 3);
            }
        }
    } else {
        while (at < end && static_cast<unsigned char>(*at - '0') < 10) {
            ++at;
        }
    }
    return at;
}

// `n`, about which the compiler knows nothing.
[[gnu::always_inline]] inline int opaque(int n) noexcept {
    asm volatile("" : "+r"(n));
    return n;
}

// Names of that many members are guessed at: an object of more is rather a table with any names.
inline constexpr std::uint32_t guessed_members = 16;

// `length`, which is below 16, by way of a jump. Where the next token begins would otherwise be
// known only when this one has been loaded and compared, some fifteen cycles later, and the same
// again for every token. A predicted jump lets the processor go on at once. Names of members recur,
// so that it mostly guesses right, which saves messages and rows a quarter of their time; where
// nothing foretells the lengths it costs a quarter instead.
[[gnu::always_inline]] inline int guessed(int length) noexcept {
    switch (length) {
        case 0:
            return opaque(0);
        case 1:
            return opaque(1);
        case 2:
            return opaque(2);
        case 3:
            return opaque(3);
        case 4:
            return opaque(4);
        case 5:
            return opaque(5);
        case 6:
            return opaque(6);
        case 7:
            return opaque(7);
        case 8:
            return opaque(8);
        case 9:
            return opaque(9);
        case 10:
            return opaque(10);
        case 11:
            return opaque(11);
        case 12:
            return opaque(12);
        case 13:
            return opaque(13);
        case 14:
            return opaque(14);
        default:
            return opaque(15);
    }
}

}  // namespace pillion::json
