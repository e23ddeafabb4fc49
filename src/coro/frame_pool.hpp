// frame_pool: memory of coroutine frames, one pool per thread.
//
// Half of the price of a nested co_await is its allocation, so frames up to 1 KiB are recycled
// through LIFO free lists of 16-byte size classes (an idle connection is little more than its
// frames); larger ones come from the heap. A frame is freed
// on the thread that made it. A list never holds more than the frames once alive together; the
// lists are given back when the thread ends.
//
// Under AddressSanitizer every frame is a heap block of its own, so that use after free is seen.
#pragma once

#include <cstddef>

namespace pillion::coro {

class frame_pool {
 public:
    // Frames are rounded up to a multiple of this; larger ones than the second go to the heap.
    static constexpr std::size_t class_bytes = 16;
    static constexpr std::size_t pooled_bytes_max = 1024;

    // Memory for a frame of `bytes`, aligned for any fundamental type. Never null.
    [[gnu::returns_nonnull]] static void* allocate(std::size_t bytes) noexcept;

    // Takes back what allocate() returned for the same `bytes` on this thread.
    static void free(void* frame, std::size_t bytes) noexcept;

    // Frames of this thread alive now; zero at shutdown, tests assert it.
    static std::size_t live() noexcept;

    // Free frames this thread keeps for reuse (always 0 under AddressSanitizer).
    static std::size_t pooled() noexcept;

    // What this thread has from the heap for frames, free ones included.
    static std::size_t bytes() noexcept;

    // Gives the free lists of this thread back to the heap.
    static void trim() noexcept;
};

}  // namespace pillion::coro
