#include "base/arena.hpp"

#include <algorithm>

namespace pillion::base {

void* arena::allocate_slow(std::size_t bytes, std::size_t align) noexcept {
    // Not the smallest class: more will be wanted.
    constexpr std::size_t bytes_min = 1024;
    chunk* c = pool_->take(std::max(bytes + align, bytes_min));
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

void arena::release() noexcept {
    while (chunks_ != nullptr) {
        chunk* next = chunks_->next;
        chunk_pool::give(chunks_);
        chunks_ = next;
    }
    cursor_ = limit_ = nullptr;
}

}  // namespace pillion::base
