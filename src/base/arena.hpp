// arena: bump allocation over chunks. One per request; everything in it dies with the request.
//
// Objects placed here must be trivially destructible: nobody runs destructors.
// Thread: the shard of its pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
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

    // The same for what a peer or a handler decides the size of: null when it would go beyond the
    // limit or there is no memory. Who cannot do without it says exceed().
    void* try_allocate(std::size_t bytes, std::size_t align = 8) noexcept;

    // How much it may hold before try_allocate() refuses. What must succeed is not held back, and
    // is to be small.
    void limit(std::size_t bytes) noexcept { bytes_max_ = bytes; }
    // Whether somebody went without what was refused.
    bool exceeded() const noexcept { return exceeded_; }
    void exceed() noexcept { exceeded_ = true; }
    // Bytes of all its chunks.
    std::size_t bytes() const noexcept { return bytes_; }

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

    // The same, or nothing (a null view) where try_allocate() refuses.
    std::string_view try_dup(std::string_view text) noexcept {
        char* const to = static_cast<char*>(try_allocate(text.size(), 1));
        if (to == nullptr) {
            return {};
        }
        text.copy(to, text.size());
        return {to, text.size()};
    }

    // Whether `text` lies in memory of this arena, so that it lives as long. Takes time linear in
    // the number of chunks.
    bool holds(std::string_view text) const noexcept {
        const std::less_equal<> not_behind;
        for (const chunk* c = chunks_; c != nullptr; c = c->next) {
            if (not_behind(c->data(), text.data()) &&
                not_behind(text.data() + text.size(), c->data() + c->capacity)) {
                return true;
            }
        }
        return false;
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
        bytes_ += c->capacity;
    }

    // Gives everything back. The arena can be used again, within the same limit.
    void release() noexcept;

    chunk_pool& pool() noexcept { return *pool_; }

 private:
    void* allocate_slow(std::size_t bytes, std::size_t align) noexcept;
    void* place_in(chunk* c, std::size_t bytes, std::size_t align) noexcept;

    chunk_pool* pool_;
    chunk* chunks_ = nullptr;
    char* cursor_ = nullptr;
    char* limit_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t bytes_max_ = SIZE_MAX;
    bool exceeded_ = false;
};

}  // namespace pillion::base
