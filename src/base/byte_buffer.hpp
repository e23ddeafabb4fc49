// byte_buffer: a growable run of bytes in one chunk, for serialising a message.
//
// A head gap may be reserved in front, so that an HTTP head (whose length is known only after the
// body) can be written right-aligned before the body and both leave in one contiguous send. The
// finished chunk is moved out with take() into a connection's out-queue: no copy.
//
// Thread: the shard of its pool.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/chunk.hpp"

namespace pillion::base {

class byte_buffer {
 public:
    explicit byte_buffer(chunk_pool& pool, std::size_t head_gap = 0) noexcept
        : pool_(&pool), gap_(head_gap) {}
    byte_buffer(byte_buffer&& other) noexcept
        : pool_(other.pool_), chunk_(other.chunk_), gap_(other.gap_) {
        other.chunk_ = nullptr;
    }
    byte_buffer& operator=(byte_buffer&& other) noexcept;
    ~byte_buffer() { chunk_pool::give(chunk_); }

    std::string_view view() const noexcept {
        return chunk_ == nullptr ? std::string_view{}
                                 : std::string_view{chunk_->data() + chunk_->begin, chunk_->size()};
    }
    char* data() noexcept { return chunk_ == nullptr ? nullptr : chunk_->data() + chunk_->begin; }
    std::size_t size() const noexcept { return chunk_ == nullptr ? 0 : chunk_->size(); }
    bool empty() const noexcept { return size() == 0; }

    // Room for at least `bytes` more at the returned place; call commit() with what was used.
    char* reserve(std::size_t bytes) noexcept {
        if (chunk_ == nullptr || chunk_->room() < bytes) {
            grow(bytes);
        }
        return chunk_->data() + chunk_->end;
    }
    // Makes sure that the next `bytes` need no more memory; false when there is none.
    bool try_reserve(std::size_t bytes) noexcept;
    void commit(std::size_t bytes) noexcept { chunk_->end += static_cast<std::uint32_t>(bytes); }

    void append(std::string_view text) noexcept {
        if (!text.empty()) {
            std::memcpy(reserve(text.size()), text.data(), text.size());
            commit(text.size());
        }
    }
    void append(char c) noexcept {
        *reserve(1) = c;
        commit(1);
    }

    // Writes `text` right-aligned in front of the content. REQUIRES: it fits the head gap.
    void prepend(std::string_view text) noexcept;

    // Cuts the content to its first `bytes`. REQUIRES: bytes <= size().
    void truncate(std::size_t bytes) noexcept;
    // Empties it, keeping the memory (and the head gap).
    void clear() noexcept;

    // Hands the chunk over (nullptr if nothing was ever written); the buffer is empty afterwards.
    chunk* take() noexcept {
        chunk* c = chunk_;
        chunk_ = nullptr;
        return c;
    }

    chunk_pool& pool() noexcept { return *pool_; }

 private:
    void grow(std::size_t bytes) noexcept;
    void move_to(chunk* bigger) noexcept;

    chunk_pool* pool_;
    chunk* chunk_ = nullptr;
    std::size_t gap_;
};

}  // namespace pillion::base
