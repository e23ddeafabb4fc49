// arena: bump allocation over chunks. One per request; everything in it dies with the request.
//
// Objects placed here must be trivially destructible: nobody runs destructors.
// Thread: the shard of its pool.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/chunk.hpp"

namespace pillion::base {

class arena {
 public:
    explicit arena(chunk_pool& pool) noexcept : pool_(&pool) {}
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;
    ~arena() { release(); }

    // `bytes` of uninitialised memory aligned to `align` (a power of two, at most 64). Never null.
    void* allocate(std::size_t bytes, std::size_t align = 8) noexcept {
        const auto at = (reinterpret_cast<std::uintptr_t>(cursor_) + (align - 1)) & ~(align - 1);
        if (at + bytes <= reinterpret_cast<std::uintptr_t>(limit_) && cursor_ != nullptr) {
            cursor_ = reinterpret_cast<char*>(at + bytes);
            return reinterpret_cast<void*>(at);
        }
        return allocate_slow(bytes, align);
    }

    // A default-initialised array of `count` T.
    template <class T>
    T* array(std::size_t count) noexcept {
        static_assert(std::is_trivially_destructible_v<T>);
        return static_cast<T*>(allocate(sizeof(T) * count, alignof(T)));
    }

    // Constructs a T.
    template <class T, class... Args>
    T* make(Args&&... args) {
        static_assert(std::is_trivially_destructible_v<T>);
        return ::new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
    }

    // A copy of `text` that lives as long as the arena.
    std::string_view dup(std::string_view text) noexcept {
        char* to = static_cast<char*>(allocate(text.size(), 1));
        if (!text.empty()) {
            std::memcpy(to, text.data(), text.size());
        }
        return {to, text.size()};
    }

    // Gives back the tail [from, end) of the last allocation, whose end is `end`. A large block
    // that got a chunk of its own keeps its tail.
    void trim(void* from, const void* end) noexcept {
        if (cursor_ == end) {
            cursor_ = static_cast<char*>(from);
        }
    }

    // Keeps `c` until the arena is released (takes ownership).
    void adopt(chunk* c) noexcept {
        c->next = chunks_;
        chunks_ = c;
    }

    // Gives everything back. The arena can be used again.
    void release() noexcept;

    chunk_pool& pool() noexcept { return *pool_; }

 private:
    void* allocate_slow(std::size_t bytes, std::size_t align) noexcept;

    chunk_pool* pool_;
    chunk* chunks_ = nullptr;
    char* cursor_ = nullptr;
    char* limit_ = nullptr;
};

}  // namespace pillion::base
