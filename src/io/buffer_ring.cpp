#include "io/buffer_ring.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <atomic>
#include <new>

#include "base/assert.hpp"
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

// So many small buffers are one.
std::size_t joined(std::size_t count, buffer_ring::use how) noexcept {
    constexpr std::size_t large_min = 4;
    return how == buffer_ring::use::until_full && count >= large_min * limits::recv_large_factor
               ? limits::recv_large_factor
               : 1;
}

}  // namespace

buffer_ring::buffer_ring(std::size_t count, std::size_t bytes, use how) noexcept
    : how_(how),
      count_(count / joined(count, how)),
      bytes_(bytes * joined(count, how)),
      ring_(count_ * sizeof(uring_abi::ring_buffer)),
      buffers_(count_ * bytes_),
      free_(new(std::nothrow) std::uint16_t[count_]),
      lent_(new(std::nothrow) std::uint32_t[count_]()),
      shown_(std::min(count_, 2 * shown_min())) {
    for (std::size_t i = 0; i < count_ && free_ != nullptr; ++i) {
        free_[free_count_++] = static_cast<std::uint16_t>(count_ - 1 - i);
    }
}

buffer_ring::~buffer_ring() {
    delete[] free_;
    delete[] lent_;
}

void buffer_ring::put(std::uint16_t id) noexcept {
    // Field by field: entry 0 shares its `reserved` with the tail of the ring.
    uring_abi::ring_buffer& e = entry(tail_);
    e.address = address_of(id);
    e.bytes = static_cast<std::uint32_t>(bytes_ - limits::padding);
    e.id = id;
    lent_[id] = in_kernel;
    ++tail_;
    ++in_ring_;
}

// The kernel puts nothing more into that one.
void buffer_ring::leaves_ring(std::uint32_t id) noexcept {
    lent_[id] -= in_kernel;
    if (lent_[id] == 0) {
        free_[free_count_++] = static_cast<std::uint16_t>(id);
    }
    --in_ring_;
    ++taken_;
}

void buffer_ring::first_is_full() noexcept {
    const std::uint16_t id = entry(head_).id;
    ++head_;
    filled_ = 0;
    leaves_ring(id);
}

char* buffer_ring::took(std::uint32_t id, std::size_t received, bool more) noexcept {
    if (how_ == use::one_receive) {
        lent_[id] += received > 0 ? one_lent : 0;
        leaves_ring(id);
        return received > 0 ? buffer(id) : nullptr;
    }
    // Buffers are taken in order, so one that is not the first says that those before it are full.
    while (entry(head_).id != id) {
        PILLION_ASSERT(in_ring_ > 0);
        first_is_full();
    }
    if (received == 0) {
        return nullptr;  // without `more` on 6.19, though not full (liburing issue 1545)
    }
    char* const data = buffer(id) + filled_;
    lent_[id] += one_lent;
    filled_ += received;
    if (!more) {
        first_is_full();
    }
    return data;
}

// The kernel keeps in the entry how far it is, and reads it there at each receive. If that is
// further than what we have seen (a full one has no bytes left), completions are left to be read.
void buffer_ring::begin_first_again() noexcept {
    uring_abi::ring_buffer& e = entry(head_);
    const std::uint64_t address = address_of(e.id);
    const std::size_t whole = bytes_ - limits::padding;
    if (lent_[e.id] == in_kernel && e.address == address + filled_ && e.bytes == whole - filled_) {
        e.address = address;
        e.bytes = static_cast<std::uint32_t>(whole);
        filled_ = 0;
    }
}

void buffer_ring::look_back() noexcept {
    if (taken_most_ < shown_ / 4 && shown_ > shown_min()) {
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
    if (filled_ > 0) {
        begin_first_again();
    }
    if (in_ring_ >= shown_ || free_count_ == 0) {
        return;
    }
    while (in_ring_ < shown_ && free_count_ > 0) {
        put(free_[--free_count_]);
    }
    std::atomic_ref<std::uint16_t>(entry(0).reserved).store(tail_, std::memory_order_release);
}

}  // namespace pillion::io
