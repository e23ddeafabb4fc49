// frame_pool: recycling per size class, the heap beyond, counters, and the end of a thread.
#include "coro/frame_pool.hpp"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::coro {
namespace {

// False under AddressSanitizer, where every frame is a heap block.
bool recycles() {
    frame_pool::trim();
    frame_pool::free(frame_pool::allocate(64), 64);
    const bool kept = frame_pool::pooled() == 1;
    frame_pool::trim();
    return kept;
}

TEST(frame_pool, every_size_is_writable_aligned_and_counted) {
    std::vector<void*> frames;
    for (std::size_t bytes = 1; bytes <= 1200; ++bytes) {
        void* frame = frame_pool::allocate(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame) % alignof(std::max_align_t), 0U);
        std::memset(frame, 0x5A, bytes);
        frames.push_back(frame);
        ASSERT_EQ(frame_pool::live(), bytes);
    }
    for (std::size_t bytes = 1; bytes <= 1200; ++bytes) {
        frame_pool::free(frames[bytes - 1], bytes);
    }
    EXPECT_EQ(frame_pool::live(), 0U);
    // 1..1024 stay for reuse, larger ones went to the heap.
    if (recycles()) {
        EXPECT_EQ(frame_pool::pooled(), 0U);
    }
}

TEST(frame_pool, bytes_are_what_the_heap_gave_and_has_not_got_back) {
    frame_pool::trim();
    const std::size_t before = frame_pool::bytes();
    void* const small = frame_pool::allocate(100);
    void* const large = frame_pool::allocate(5000);
    EXPECT_EQ(frame_pool::bytes() - before, recycles() ? 112U + 5000U : 5100U);
    frame_pool::free(large, 5000);
    frame_pool::free(small, 100);
    frame_pool::trim();
    EXPECT_EQ(frame_pool::bytes(), before);
}

TEST(frame_pool, reuses_the_frame_freed_last_of_the_same_class) {
    if (!recycles()) {
        EXPECT_EQ(frame_pool::pooled(), 0U);
        return;
    }
    void* a = frame_pool::allocate(113);
    void* b = frame_pool::allocate(128);
    frame_pool::free(a, 113);
    frame_pool::free(b, 128);
    EXPECT_EQ(frame_pool::pooled(), 2U);
    EXPECT_EQ(frame_pool::allocate(120), b);
    EXPECT_EQ(frame_pool::allocate(114), a);
    void* other_class = frame_pool::allocate(129);
    EXPECT_NE(other_class, a);
    frame_pool::free(a, 114);
    frame_pool::free(b, 120);
    frame_pool::free(other_class, 129);
    EXPECT_EQ(frame_pool::live(), 0U);
    frame_pool::trim();
    EXPECT_EQ(frame_pool::pooled(), 0U);
}

TEST(frame_pool, keeps_no_frame_beyond_the_largest_class) {
    frame_pool::trim();
    frame_pool::free(frame_pool::allocate(1025), 1025);
    EXPECT_EQ(frame_pool::pooled(), 0U);
}

// A frame freed by a destructor that runs after the pool's own must not be kept (it would leak).
struct late_owner {
    void* frame = nullptr;
    ~late_owner() {
        if (frame != nullptr) {
            frame_pool::free(frame, 64);
        }
    }
};
thread_local late_owner late;

TEST(frame_pool, threads_have_their_own_and_clean_up) {
    void* here = frame_pool::allocate(64);
    std::thread([] {
        late.frame = nullptr;  // constructed before the guard of the pool, so destroyed after it
        EXPECT_EQ(frame_pool::live(), 0U);
        late.frame = frame_pool::allocate(64);
        frame_pool::free(frame_pool::allocate(64), 64);
        EXPECT_EQ(frame_pool::live(), 1U);
    }).join();
    EXPECT_EQ(frame_pool::live(), 1U);
    frame_pool::free(here, 64);
}

}  // namespace
}  // namespace pillion::coro
