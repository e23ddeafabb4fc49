// buffer_ring: the receive buffers of a shard and the ring of descriptors through which the kernel
// takes them. Pure memory: registering with a ring is up to uring_backend; epoll uses a
// buffer_pool instead. Thread: its shard (the kernel reads the ring concurrently).
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/uring_abi.hpp"

namespace pillion::io {

// Page-aligned zeroed memory from the system, returned at the end of its life.
class mapping {
 public:
    // Empty (data() == nullptr) when the system has no memory.
    explicit mapping(std::size_t bytes) noexcept;
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping();

    char* data() const noexcept { return data_; }

 private:
    char* data_ = nullptr;
    std::size_t bytes_;
};

class buffer_ring {
 public:
    // `count` buffers (a power of two up to 32768) of `bytes` each, padding included.
    buffer_ring(std::size_t count, std::size_t bytes) noexcept;

    // False when memory was short.
    bool ok() const noexcept { return ring_.data() != nullptr && buffers_.data() != nullptr; }

    // For the registration.
    std::uint64_t address() const noexcept {
        return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(ring_.data()));
    }
    std::uint32_t entries() const noexcept { return static_cast<std::uint32_t>(count_); }

    char* buffer(std::uint32_t id) const noexcept { return buffers_.data() + id * bytes_; }

    // Puts every buffer into the ring. Once, after the registration.
    void fill() noexcept;
    // Puts one back; the kernel sees it after publish().
    void give(std::uint32_t id) noexcept;
    // Shows everything given to the kernel with one store.
    void publish() noexcept;

 private:
    uring_abi::ring_buffer* entry() const noexcept {
        return reinterpret_cast<uring_abi::ring_buffer*>(ring_.data());
    }

    std::size_t count_;
    std::size_t bytes_;
    mapping ring_;
    mapping buffers_;
    std::uint16_t tail_ = 0;
    std::uint16_t published_ = 0;
};

// The same buffers as a stack of free ones.
class buffer_pool {
 public:
    buffer_pool(std::size_t count, std::size_t bytes) noexcept;
    buffer_pool(const buffer_pool&) = delete;
    buffer_pool& operator=(const buffer_pool&) = delete;
    ~buffer_pool();

    // False when memory was short.
    bool ok() const noexcept { return buffers_.data() != nullptr && free_ != nullptr; }
    bool empty() const noexcept { return free_count_ == 0; }
    std::size_t lent() const noexcept { return count_ - free_count_; }

    char* buffer(std::uint32_t id) const noexcept { return buffers_.data() + id * bytes_; }
    // REQUIRES: !empty().
    std::uint32_t take() noexcept { return free_[--free_count_]; }
    void give(std::uint32_t id) noexcept { free_[free_count_++] = id; }

 private:
    std::size_t count_;
    std::size_t bytes_;
    mapping buffers_;
    std::uint32_t* free_;
    std::size_t free_count_ = 0;
};

}  // namespace pillion::io
