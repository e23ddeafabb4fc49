// out_queue: the bytes a stream still has to send: chunks it owns and static pieces it does not,
// in order, with the arithmetic of gathering and of short sends. Small chunks that have to wait are
// merged.
//
// A few entries live inside; a longer queue borrows a chunk for them until it is empty again. So
// the steady state allocates nothing and an idle stream holds nothing. Thread: its shard.
#pragma once

#include <sys/uio.h>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/chunk.hpp"

namespace pillion::io {

class out_queue {
 public:
    // A send gathers at most this many pieces…
    static constexpr std::size_t gather_max = 16;
    // … and usually not more than this,
    static constexpr std::size_t gather_few = 2;
    // …and several pieces of together at most this many bytes are copied into one.
    static constexpr std::size_t copy_bytes_max = 2048;

    explicit out_queue(base::chunk_pool& pool) noexcept : pool_(&pool) {}
    out_queue(const out_queue&) = delete;
    out_queue& operator=(const out_queue&) = delete;
    ~out_queue() { clear(); }

    // Appends a chunk's filled part (ownership passes, or this share of it; an empty chunk is given
    // back at once).
    void push(base::chunk* bytes) noexcept;
    // Appends bytes that outlive the queue.
    void push_static(std::string_view bytes) noexcept;

    std::size_t bytes() const noexcept { return bytes_; }
    bool empty() const noexcept { return bytes_ == 0; }
    // What is left of the largest piece. Looks at all of them.
    std::size_t largest() const noexcept;

    // True when gather() may need more than gather_few parts.
    bool gathers_many() const noexcept { return count_ > gather_few && bytes_ > copy_bytes_max; }
    // Fills `parts` (gather_max entries, or gather_few unless gathers_many()) with the front of the
    // queue and returns how many were used. The memory stays where it is until sent() or clear().
    // While a gather is out, push never moves or merges what was gathered.
    std::size_t gather(iovec* parts) noexcept;

    // Drops the first `bytes` from the front, giving chunks back.
    void sent(std::size_t bytes) noexcept;
    // Drops everything.
    void clear() noexcept;

 private:
    struct entry {
        const char* text = nullptr;  // what is still to be sent of it
        std::size_t bytes = 0;
        base::chunk* owned = nullptr;  // null for a static piece
    };

    entry& at(std::size_t i) noexcept { return ring_[(head_ + i) & (capacity_ - 1)]; }
    void append(entry e) noexcept;
    bool merge(const base::chunk& bytes) noexcept;
    void grow() noexcept;
    void coalesce() noexcept;
    void shrink() noexcept;
    // The memory of the ring; null while it is the inline one.
    base::chunk* ring_chunk() noexcept;

    static constexpr std::uint32_t inline_entries = 2;

    base::chunk_pool* pool_;
    entry inline_[inline_entries];
    entry* ring_ = inline_;
    std::size_t bytes_ = 0;
    std::uint32_t capacity_ = inline_entries;
    std::uint32_t head_ = 0;
    std::uint32_t count_ = 0;
    std::uint32_t gathered_ = 0;  // entries that the gather under way holds: they stay as they are
};

}  // namespace pillion::io
