#include "io/buffer_ring.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <atomic>
#include <new>

#include "base/limits.hpp"

namespace pillion::io {

mapping::mapping(std::size_t bytes) noexcept : bytes_(bytes) {
    void* got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    data_ = got == MAP_FAILED ? nullptr : static_cast<char*>(got);
}

mapping::~mapping() {
    if (data_ != nullptr) {
        ::munmap(data_, bytes_);
    }
}

namespace {

// So often it is looked whether fewer would do.
constexpr std::uint32_t look_back_turns = 4096;

}  // namespace

buffer_ring::buffer_ring(std::size_t count, std::size_t bytes) noexcept
    : count_(count),
      bytes_(bytes),
      ring_(count * sizeof(uring_abi::ring_buffer)),
      buffers_(count * bytes),
      free_(new(std::nothrow) std::uint16_t[count]),
      shown_(std::min(count, 2 * shown_min)) {
    for (std::size_t i = 0; i < count && free_ != nullptr; ++i) {
        give(static_cast<std::uint32_t>(count - 1 - i));
    }
}

buffer_ring::~buffer_ring() { delete[] free_; }

void buffer_ring::put(std::uint16_t id) noexcept {
    // Field by field: entry 0 shares its `reserved` with the tail of the ring.
    uring_abi::ring_buffer& e = entry()[tail_ & (count_ - 1)];
    e.address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(buffer(id)));
    e.bytes = static_cast<std::uint32_t>(bytes_ - limits::padding);
    e.id = id;
    ++tail_;
    ++in_ring_;
}

void buffer_ring::look_back() noexcept {
    if (taken_most_ < shown_ / 4 && shown_ > shown_min) {
        shown_ /= 2;
    }
    taken_most_ = 0;
}

void buffer_ring::publish() noexcept {
    taken_most_ = std::max(taken_most_, taken_);
    taken_ = 0;
    if (++turns_ % look_back_turns == 0) {
        look_back();
    }
    if (ran_out_) [[unlikely]] {
        shown_ = std::min(count_, 2 * shown_);
        ran_out_ = false;
    }
    if (in_ring_ >= shown_ || free_count_ == 0) {
        return;
    }
    while (in_ring_ < shown_ && free_count_ > 0) {
        put(free_[--free_count_]);
    }
    std::atomic_ref<std::uint16_t>(entry()[0].reserved).store(tail_, std::memory_order_release);
}

buffer_pool::buffer_pool(std::size_t count, std::size_t bytes) noexcept
    : count_(count),
      bytes_(bytes),
      buffers_(count * bytes),
      free_(new(std::nothrow) std::uint32_t[count]) {
    // Handed out from the lowest, and the last one back first: the warmest in the cache.
    for (std::size_t i = 0; i < count && free_ != nullptr; ++i) {
        give(static_cast<std::uint32_t>(count - 1 - i));
    }
}

buffer_pool::~buffer_pool() { delete[] free_; }

}  // namespace pillion::io
