// receive_buffers: what a backend without a buffer ring receives into: one area, in which the
// receives of a turn lie one behind the other. It is begun again when nothing of it is lent, so
// that each turn writes where the last one did. Thread: its shard.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "io/buffer_ring.hpp"

namespace pillion::io {

class receive_buffers {
 public:
    struct room {
        char* data = nullptr;   // null: there is none until something is given back
        std::size_t bytes = 0;  // to be filled; limits::padding readable ones follow
    };

    // An area for `count` receives of `bytes` each, padding included.
    receive_buffers(std::size_t count, std::size_t bytes) noexcept
        : least_(bytes), bytes_(count * bytes), area_(bytes_) {}

    // False when memory was short.
    bool ok() const noexcept { return area_.data() != nullptr; }

    // For the next receive: at least `bytes` of the constructor, more if there is more.
    room next() const noexcept {
        const std::size_t left = std::min(bytes_ - used_, limits::recv_large_factor * least_);
        return left < least_ ? room{} : room{area_.data() + used_, left - limits::padding};
    }
    // So many were written there: lent until give().
    void took(std::size_t bytes) noexcept {
        constexpr std::size_t line_bytes = 64;
        used_ = (used_ + bytes + line_bytes - 1) / line_bytes * line_bytes;
        PILLION_ASSERT(used_ <= bytes_);
        ++lent_;
    }
    void give() noexcept {
        PILLION_ASSERT(lent_ > 0);
        --lent_;
        used_ = lent_ == 0 ? 0 : used_;
    }
    std::size_t lent() const noexcept { return lent_; }

 private:
    std::size_t least_;
    std::size_t bytes_;
    mapping area_;
    std::size_t used_ = 0;
    std::size_t lent_ = 0;
};

}  // namespace pillion::io
