// short_copy: copies of a few bytes without a call. Words that overlap cover every length and touch
// nothing that lies outside.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstring>

namespace pillion::base {

// Copies `bytes` from `from` to `to`, which must not overlap. For what is at most 32 bytes long in
// most cases; more takes the usual way.
[[gnu::always_inline]] inline void short_copy(char* to, const char* from,
                                              std::size_t bytes) noexcept {
    const auto both_ends = [=]<std::size_t Word>() {
        char first[Word];
        char last[Word];
        std::memcpy(first, from, Word);
        std::memcpy(last, from + bytes - Word, Word);
        std::memcpy(to, first, Word);
        std::memcpy(to + bytes - Word, last, Word);
    };
    if (bytes > 32) {
        std::memcpy(to, from, bytes);
    } else if (bytes >= 16) {
        both_ends.template operator()<16>();
    } else if (bytes >= 8) {
        both_ends.template operator()<8>();
    } else if (bytes >= 4) {
        both_ends.template operator()<4>();
    } else if (bytes >= 2) {
        both_ends.template operator()<2>();
    } else if (bytes == 1) {
        *to = *from;
    }
}

}  // namespace pillion::base
