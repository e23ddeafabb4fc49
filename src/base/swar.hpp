// swar: byte tests on eight bytes at once, for machines without vector code.
//
// The tests are exact as a whole ("is there any"), not for each lane, so they hold in either byte
// order; whoever needs the place looks at the bytes one by one. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>

namespace pillion::base::swar {

inline constexpr std::uint64_t ones = 0x0101010101010101U;
inline constexpr std::uint64_t highs = 0x8080808080808080U;

template <class Word>
std::uint64_t load(const char* at) noexcept {
    Word word;
    std::memcpy(&word, at, sizeof(word));
    return word;
}

constexpr bool has_byte(std::uint64_t word, unsigned char byte) noexcept {
    const std::uint64_t zero = word ^ (ones * byte);
    return ((zero - ones) & ~zero & highs) != 0;
}

// `limit` is at most 128.
constexpr bool has_less(std::uint64_t word, unsigned char limit) noexcept {
    return ((word - ones * limit) & ~word & highs) != 0;
}

constexpr bool has_high(std::uint64_t word) noexcept { return (word & highs) != 0; }

}  // namespace pillion::base::swar
