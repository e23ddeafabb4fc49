// receive_buffers: what a backend without a buffer ring receives into: many small buffers, which
// fit the cache, and a few large ones for whoever is known to send a lot. Those are not touched, so
// cost no memory, until somebody does. Thread: its shard.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"
#include "io/buffer_ring.hpp"

namespace pillion::io {

class receive_buffers {
 public:
    struct lease {
        char* data = nullptr;   // null: all of that kind are lent
        std::size_t bytes = 0;  // to be filled; limits::padding readable ones follow
        std::uint32_t id = 0;
    };

    // `count` small buffers of `bytes` each, padding included.
    receive_buffers(std::size_t count, std::size_t bytes) noexcept
        : small_count_(static_cast<std::uint32_t>(count)),
          small_bytes_(bytes),
          large_bytes_(limits::recv_large_factor * bytes),
          small_(count, bytes),
          large_(limits::recv_large_buffers, large_bytes_) {}

    // False when memory was short.
    bool ok() const noexcept { return small_.ok() && large_.ok(); }

    // A large one for `expected` bytes, if they are more than two small ones take. Who finds none
    // free waits for the next turn: small ones would cost more.
    lease take(std::size_t expected) noexcept {
        if (expected > 2 * small_bytes_) {
            if (large_.empty()) {
                return {};
            }
            const std::uint32_t id = large_.take();
            return {large_.buffer(id), std::min(large_bytes_ - limits::padding, expected),
                    small_count_ + id};
        }
        if (small_.empty()) {
            return {};
        }
        const std::uint32_t id = small_.take();
        return {small_.buffer(id), small_bytes_ - limits::padding, id};
    }
    void give(std::uint32_t id) noexcept {
        id < small_count_ ? small_.give(id) : large_.give(id - small_count_);
    }
    std::size_t lent() const noexcept { return small_.lent() + large_.lent(); }

 private:
    std::uint32_t small_count_;
    std::size_t small_bytes_;
    std::size_t large_bytes_;
    buffer_pool small_;
    buffer_pool large_;
};

}  // namespace pillion::io
