// chunk: a block of raw memory with a small header, and chunk_pool, its per-shard allocator.
//
// Everything on the path of a request that needs bytes (request input, arena, reply, connection
// spill) takes chunks, so that the steady state never calls malloc: a pool keeps free lists of
// four size classes; larger blocks come from and go back to the heap.
//
// A chunk whose text is complete may have several owners (share()): each gives it back once, and
// from the first share on nobody changes it.
//
// Thread: a pool belongs to one shard. A chunk is returned to the pool it came from, on that
// pool's thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pillion::base {

class chunk_pool;

// `begin..end` is the filled part of `data()[0..capacity)`. A sole owner may move both freely.
struct chunk {
    chunk* next = nullptr;       // for the owner's lists; the pool's own while free
    chunk_pool* pool = nullptr;  // where it goes back to
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t capacity = 0;
    std::uint16_t size_class = 0;
    std::uint16_t shares = 0;  // owners beside the first

    char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
    const char* data() const noexcept { return reinterpret_cast<const char*>(this + 1); }
    std::size_t size() const noexcept { return end - begin; }
    std::size_t room() const noexcept { return capacity - end; }
};

class chunk_pool {
 public:
    chunk_pool() = default;
    chunk_pool(const chunk_pool&) = delete;
    chunk_pool& operator=(const chunk_pool&) = delete;
    // Frees the free lists. Asserts that every chunk has come back.
    ~chunk_pool();

    // A chunk with capacity of at least `bytes` (begin = end = 0). Never fails: memory exhaustion
    // ends the process, as operator new does; so what peers or handlers decide the size of is taken
    // with try_take(). Size classes: 512 B, 4 KiB, 16 KiB, 64 KiB (capacity
    // is the class less the header), above that the exact size.
    chunk* take(std::size_t bytes) noexcept;
    // The same, but null when there is no memory or `bytes` do not fit into a chunk (4 GiB).
    chunk* try_take(std::size_t bytes) noexcept;

    // Gives a chunk back; one that is shared loses this owner. nullptr is ignored.
    static void give(chunk* c) noexcept;

    // One more owner of a chunk, who gives it back as well. False when it has too many (65 536).
    // REQUIRES: room() is 0, so that no owner takes it for a place to append to.
    static bool share(chunk& c) noexcept;

    // Chunks out at this moment; zero at shutdown, tests assert it.
    std::size_t live() const noexcept { return live_; }
    // What it has from the heap now, free chunks included.
    std::size_t bytes() const noexcept { return bytes_; }

 private:
    static constexpr std::size_t classes = 4;
    // Free chunks kept per class; beyond it they go back to the heap.
    static constexpr std::size_t free_max[classes] = {1024, 1024, 128, 32};

    chunk* free_[classes] = {};
    std::size_t free_count_[classes] = {};
    std::size_t live_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace pillion::base
