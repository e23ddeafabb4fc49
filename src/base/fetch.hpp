// fetch: asks for memory that is about to be used, so that it is in the caches by then.
//
// Thread-safety: any thread. It never faults: what is asked for may not exist any more.
#pragma once

#include <cstddef>

namespace pillion::base {

// Every cache line of these bytes, wherever they begin in the first one. `bytes` > 0.
//
// GCC takes a function that only asks for memory for one without effect and drops its calls (seen
// in g++ 12), unless it has become part of its caller before: hence always_inline, here and in
// functions that do nothing else.
[[gnu::always_inline]] inline void fetch(const void* from, std::size_t bytes) noexcept {
    constexpr std::size_t cache_line_bytes = 64;
    const char* const at = static_cast<const char*>(from);
    for (std::size_t i = 0; i < bytes - 1; i += cache_line_bytes) {
        __builtin_prefetch(at + i, 1);
    }
    __builtin_prefetch(at + bytes - 1, 1);
}

}  // namespace pillion::base
