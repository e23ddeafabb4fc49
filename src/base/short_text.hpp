// short_text: copies and comparisons of texts that are short in most cases, without a call. Words
// that overlap cover every length and touch nothing that lies outside.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pillion::base {

namespace detail {

// The first and the last bytes of a text, which may be the same.
template <std::size_t Bytes>
[[gnu::always_inline]] inline void copy_ends(char* to, const char* from,
                                             std::size_t size) noexcept {
    char first[Bytes];
    char last[Bytes];
    std::memcpy(first, from, Bytes);
    std::memcpy(last, from + size - Bytes, Bytes);
    std::memcpy(to, first, Bytes);
    std::memcpy(to + size - Bytes, last, Bytes);
}

template <std::size_t Bytes>
[[gnu::always_inline]] inline bool equal_ends(const char* a, const char* b,
                                              std::size_t size) noexcept {
    return std::memcmp(a, b, Bytes) == 0 &&
           std::memcmp(a + size - Bytes, b + size - Bytes, Bytes) == 0;
}

}  // namespace detail

// Copies `size` bytes from `from` to `to`; no overlap.
[[gnu::always_inline]] inline void short_copy(char* to, const char* from,
                                              std::size_t size) noexcept {
    if (size > 64) {
        std::memcpy(to, from, size);
    } else if (size > 32) {
        detail::copy_ends<32>(to, from, size);
    } else if (size >= 16) {
        detail::copy_ends<16>(to, from, size);
    } else if (size >= 8) {
        detail::copy_ends<8>(to, from, size);
    } else if (size >= 4) {
        detail::copy_ends<4>(to, from, size);
    } else if (size >= 2) {
        detail::copy_ends<2>(to, from, size);
    } else if (size == 1) {
        *to = *from;
    }
}

// Whether both are the same bytes.
[[gnu::always_inline]] inline bool short_equal(std::string_view a, std::string_view b) noexcept {
    const std::size_t size = a.size();
    if (size != b.size()) {
        return false;
    }
    if (size > 32) {
        return std::memcmp(a.data(), b.data(), size) == 0;
    }
    if (size >= 16) {
        return detail::equal_ends<16>(a.data(), b.data(), size);
    }
    if (size >= 8) {
        return detail::equal_ends<8>(a.data(), b.data(), size);
    }
    if (size >= 4) {
        return detail::equal_ends<4>(a.data(), b.data(), size);
    }
    if (size >= 2) {
        return detail::equal_ends<2>(a.data(), b.data(), size);
    }
    return size == 0 || a.front() == b.front();
}

// At most 8 bytes as a number: texts of one size that differ give different ones.
[[gnu::always_inline]] inline std::uint64_t short_word(const char* at, std::size_t size) noexcept {
    if (size >= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, 8);
        return word;
    }
    if (size >= 4) {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::memcpy(&first, at, 4);
        std::memcpy(&last, at + size - 4, 4);
        return first | std::uint64_t{last} << 32U;
    }
    const auto byte = [=](std::size_t i) {
        return std::uint64_t{static_cast<unsigned char>(at[i])};
    };
    return size == 0 ? 0 : byte(0) | byte(size / 2) << 8U | byte(size - 1) << 16U;
}

}  // namespace pillion::base
