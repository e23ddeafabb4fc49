// buffer_ring: the receive buffers of a shard and the ring of descriptors through which the kernel
// takes them. Pure memory: registering with a ring is up to uring_backend; epoll has
// receive_buffers instead. Thread: its shard (the kernel reads the ring concurrently).
#pragma once

#include <cerrno>
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

// The kernel takes buffers in the order they were put, so that a ring of all of them would have
// each receive write into the coldest. It is shown a few, as many as its turns take, and the last
// ones back come first.
//
// Either each receive takes a buffer, or receives fill one after another (IOU_PBUF_RING_INC). Then
// the kernel moves the beginning of the first entry on, and one that is begun but lent to nobody is
// shown whole again: the receives of each turn fall close together into the same memory.
class buffer_ring {
 public:
    enum class use : std::uint8_t { one_receive, until_full };

    // `count` buffers (a power of two up to 32768) of `bytes` each, padding included. `until_full`
    // only where the kernel reads the ring within io_uring_enter and nowhere else; it makes a large
    // buffer of several, if there are enough.
    buffer_ring(std::size_t count, std::size_t bytes, use how) noexcept;
    buffer_ring(const buffer_ring&) = delete;
    buffer_ring& operator=(const buffer_ring&) = delete;
    ~buffer_ring();

    // False when memory was short.
    bool ok() const noexcept {
        return ring_.data() != nullptr && buffers_.data() != nullptr && free_ != nullptr &&
               lent_ != nullptr;
    }

    use how() const noexcept { return how_; }
    // For the registration.
    std::uint64_t address() const noexcept { return uring_abi::to_number(ring_.data()); }
    std::uint32_t entries() const noexcept { return static_cast<std::uint32_t>(count_); }

    char* buffer(std::uint32_t id) const noexcept { return buffers_.data() + id * bytes_; }

    // The kernel has put `received` bytes into that one, and may put more behind them. With
    // `until_full` completions come here in the order in which it did so. Returns where the bytes
    // are, lent until give(); null for none.
    char* took(std::uint32_t id, std::size_t received, bool more) noexcept;
    // What a receive ended with. If there was no buffer left, more are shown from the next turn on.
    void look_at(std::int32_t res) noexcept { ran_out_ = ran_out_ || res == -ENOBUFS; }
    // The bytes of one completion are no longer needed.
    void give(std::uint32_t id) noexcept {
        lent_[id] -= one_lent;
        if (lent_[id] == 0) {
            free_[free_count_++] = static_cast<std::uint16_t>(id);
        }
    }
    // Before each turn: shows the kernel what it may take.
    void publish() noexcept;

    // How many the kernel is shown at present.
    std::size_t shown() const noexcept { return shown_; }
    // … at least.
    std::size_t shown_min() const noexcept { return how_ == use::until_full ? 2 : 32; }

 private:
    // In lent_: one for each completion that is lent, and one bit while the kernel has it.
    static constexpr std::uint32_t in_kernel = 1;
    static constexpr std::uint32_t one_lent = 2;

    uring_abi::ring_buffer& entry(std::uint16_t at) const noexcept {
        return reinterpret_cast<uring_abi::ring_buffer*>(ring_.data())[at & (count_ - 1)];
    }
    std::uint64_t address_of(std::uint32_t id) const noexcept {
        return uring_abi::to_number(buffer(id));
    }
    void put(std::uint16_t id) noexcept;
    void leaves_ring(std::uint32_t id) noexcept;
    void first_is_full() noexcept;
    void begin_first_again() noexcept;
    void look_back() noexcept;

    use how_;
    std::size_t count_;
    std::size_t bytes_;
    mapping ring_;
    mapping buffers_;
    std::uint16_t* free_;
    std::uint32_t* lent_;  // by id
    std::size_t free_count_ = 0;
    std::size_t shown_;
    std::size_t in_ring_ = 0;
    std::size_t taken_ = 0;       // since publish()
    std::size_t taken_most_ = 0;  // between any two of the last ones
    std::uint32_t turns_ = 0;
    std::size_t filled_ = 0;  // of the first one in the ring
    std::uint16_t head_ = 0;
    std::uint16_t tail_ = 0;
    bool ran_out_ = false;
};

}  // namespace pillion::io
