// A chunk as chunk_pool::share() wants it: its text at the end of its memory, so that there is no
// room behind it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/chunk.hpp"

namespace pillion::testing {

inline base::chunk* full_chunk(base::chunk_pool& pool, std::string_view text) {
    base::chunk* const c = pool.take(text.size());
    c->end = c->capacity;
    c->begin = c->end - static_cast<std::uint32_t>(text.size());
    std::memcpy(c->data() + c->begin, text.data(), text.size());
    return c;
}

}  // namespace pillion::testing
