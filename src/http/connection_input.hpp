// connection_input: the unread bytes of one connection.
//
// Received bytes are lent by the stream for one call only. They are parsed where they lie as long
// as nothing older waits; what is not used up before the call returns moves to the spill, one
// chunk that exists only while it holds something. A head whose body is still coming is kept apart
// from the spill, so that the views into it stay good.
//
// Owned by its connection. Thread: its shard.
#pragma once

#include <cstddef>

#include "base/chunk.hpp"

namespace pillion::http {

class connection_input {
 public:
    explicit connection_input(base::chunk_pool& pool) noexcept : pool_(&pool) {}
    connection_input(const connection_input&) = delete;
    connection_input& operator=(const connection_input&) = delete;
    ~connection_input() { clear(); }

    // The unread bytes; limits::padding readable bytes follow them. Never null.
    char* data() noexcept { return window_; }
    std::size_t size() const noexcept { return window_bytes_; }
    // Marks the first `bytes` as read. Their memory stays as it is until settle(), lend() or
    // keep().
    void consume(std::size_t bytes) noexcept;

    // Adds received bytes that are good until settle(). REQUIRES: settled.
    void lend(char* data, std::size_t bytes) noexcept;
    // Saves what is unread of the lent bytes and gives back what is not needed any more. To be
    // called before the lent bytes go away.
    void settle() noexcept;
    // Adds received bytes by copying them at once. REQUIRES: settled.
    void keep(const char* data, std::size_t bytes) noexcept;

    // Makes the head that was just read and consumed (`bytes` at `head`, in the input or elsewhere)
    // outlive settle(); returns where it is now. Until release_head().
    const char* retain_head(const char* head, std::size_t bytes) noexcept;
    void release_head() noexcept;

    // Drops everything.
    void clear() noexcept;

 private:
    void append(const char* data, std::size_t bytes) noexcept;
    void look_at_spill() noexcept;

    base::chunk_pool* pool_;
    base::chunk* spill_ = nullptr;
    base::chunk* head_ = nullptr;
    char* window_ = nothing_;
    std::size_t window_bytes_ = 0;
    bool lent_ = false;
    // Where the window points when there is nothing: parsers may be called with no bytes.
    static char nothing_[];
};

}  // namespace pillion::http
