#include "base/arena.hpp"

#include <algorithm>

namespace pillion::base {

namespace {

// Not the smallest class: more will be wanted.
constexpr std::size_t chunk_bytes_min = 1024;

}  // namespace

void* arena::allocate_slow(std::size_t bytes, std::size_t align) noexcept {
    return place_in(pool_->take(std::max(bytes + align, chunk_bytes_min)), bytes, align);
}

void* arena::place_in(chunk* c, std::size_t bytes, std::size_t align) noexcept {
    adopt(c);
    const auto at = (reinterpret_cast<std::uintptr_t>(c->data()) + (align - 1)) & ~(align - 1);
    char* const end = reinterpret_cast<char*>(at + bytes);
    char* const limit = c->data() + c->capacity;
    // A large block of its own must not throw away a half-full current chunk.
    if (cursor_ == nullptr || limit - end > limit_ - cursor_) {
        cursor_ = end;
        limit_ = limit;
    }
    return reinterpret_cast<void*>(at);
}

void* arena::try_allocate(std::size_t bytes, std::size_t align) noexcept {
    const auto left = static_cast<std::size_t>(limit_ - cursor_);
    if (cursor_ != nullptr && left >= align && bytes <= left - align) {
        return allocate(bytes, align);
    }
    const bool fits =
        bytes_ <= bytes_max_ && bytes <= bytes_max_ - bytes_ && bytes <= SIZE_MAX - align;
    chunk* const c = fits ? pool_->try_take(std::max(bytes + align, chunk_bytes_min)) : nullptr;
    return c == nullptr ? nullptr : place_in(c, bytes, align);
}

void arena::release() noexcept {
    while (chunks_ != nullptr) {
        chunk* next = chunks_->next;
        chunk_pool::give(chunks_);
        chunks_ = next;
    }
    cursor_ = limit_ = nullptr;
    bytes_ = 0;
    exceeded_ = false;
}

}  // namespace pillion::base
