#include "io/buffer_ring.hpp"

#include <sys/mman.h>
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

buffer_ring::buffer_ring(std::size_t count, std::size_t bytes) noexcept
    : count_(count),
      bytes_(bytes),
      ring_(count * sizeof(uring_abi::ring_buffer)),
      buffers_(count * bytes) {}

void buffer_ring::fill() noexcept {
    for (std::uint32_t id = 0; id < count_; ++id) {
        give(id);
    }
    publish();
}

void buffer_ring::give(std::uint32_t id) noexcept {
    // Field by field: entry 0 shares its `reserved` with the tail of the ring.
    uring_abi::ring_buffer& e = entry()[tail_ & (count_ - 1)];
    e.address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(buffer(id)));
    e.bytes = static_cast<std::uint32_t>(bytes_ - limits::padding);
    e.id = static_cast<std::uint16_t>(id);
    ++tail_;
}

void buffer_ring::publish() noexcept {
    if (published_ != tail_) {
        std::atomic_ref<std::uint16_t>(entry()[0].reserved).store(tail_, std::memory_order_release);
        published_ = tail_;
    }
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
