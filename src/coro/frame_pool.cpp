#include "coro/frame_pool.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include <pillion/task.hpp>

#include "base/assert.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define PILLION_FRAME_POOL_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PILLION_FRAME_POOL_HEAP 1
#endif
#endif

namespace pillion::coro {

namespace {

struct free_frame {
    free_frame* next;
};

constexpr std::size_t classes = frame_pool::pooled_bytes_max / frame_pool::class_bytes;

// Trivially constructed and destroyed, so that an access is a plain load without an init check.
struct thread_state {
    free_frame* free[classes];
    std::size_t live;
    std::size_t bytes;  // from the heap
    // Set while frames may be kept: from the first slow allocation to the end of the thread.
    bool keep;
};
constinit thread_local thread_state pool{};

[[noreturn, gnu::cold]] void out_of_memory() noexcept {
    base::assert_fail("out of memory", __FILE__, __LINE__);
}

#ifndef PILLION_FRAME_POOL_HEAP

// Its destructor runs at the end of the thread; touched only where a pool grows.
struct thread_guard {
    thread_guard() noexcept { pool.keep = true; }
    ~thread_guard() {
        pool.keep = false;
        frame_pool::trim();
    }
    // Makes the compiler construct it on this thread.
    void touch() noexcept {}
};
thread_local thread_guard guard;

std::size_t class_of(std::size_t bytes) noexcept { return (bytes - 1) / frame_pool::class_bytes; }

// What the heap was asked for.
std::size_t heap_size(std::size_t bytes) noexcept {
    const std::size_t cls = class_of(bytes);
    return cls < classes ? (cls + 1) * frame_pool::class_bytes : bytes;
}

[[gnu::noinline]] void* allocate_slow(std::size_t bytes) noexcept {
    guard.touch();
    void* memory = std::malloc(heap_size(bytes));
    if (memory == nullptr) {
        out_of_memory();
    }
    pool.bytes += heap_size(bytes);
    return memory;
}

#endif  // PILLION_FRAME_POOL_HEAP

}  // namespace

void* frame_pool::allocate(std::size_t bytes) noexcept {
    ++pool.live;
#ifdef PILLION_FRAME_POOL_HEAP
    void* memory = std::malloc(bytes);
    if (memory == nullptr) {
        out_of_memory();
    }
    pool.bytes += bytes;
    return memory;
#else
    const std::size_t cls = class_of(bytes);
    if (cls < classes && pool.free[cls] != nullptr) {
        free_frame* frame = pool.free[cls];
        pool.free[cls] = frame->next;
        return frame;
    }
    return allocate_slow(bytes);
#endif
}

void frame_pool::free(void* frame, std::size_t bytes) noexcept {
    PILLION_ASSERT(pool.live > 0);
    --pool.live;
#ifndef PILLION_FRAME_POOL_HEAP
    const std::size_t cls = class_of(bytes);
#ifndef NDEBUG
    // A resumed dead frame then jumps to an address that cannot be mapped.
    std::memset(frame, 0xDD, bytes);
#endif
    if (cls < classes && pool.keep) {
        pool.free[cls] = ::new (frame) free_frame{pool.free[cls]};
        return;
    }
    pool.bytes -= heap_size(bytes);
#else
    pool.bytes -= bytes;
#endif
    std::free(frame);
}

std::size_t frame_pool::live() noexcept { return pool.live; }

std::size_t frame_pool::pooled() noexcept {
    std::size_t count = 0;
    for (const free_frame* frame : pool.free) {
        for (; frame != nullptr; frame = frame->next) {
            ++count;
        }
    }
    return count;
}

std::size_t frame_pool::bytes() noexcept { return pool.bytes; }

void frame_pool::trim() noexcept {
    for (std::size_t cls = 0; cls < classes; ++cls) {
        free_frame*& head = pool.free[cls];
        while (head != nullptr) {
            free_frame* next = head->next;
            std::free(head);
            head = next;
            pool.bytes -= (cls + 1) * class_bytes;
        }
    }
}

}  // namespace pillion::coro

namespace pillion::detail {

void* frame_allocate(std::size_t bytes) noexcept { return coro::frame_pool::allocate(bytes); }

void frame_free(void* frame, std::size_t bytes) noexcept { coro::frame_pool::free(frame, bytes); }

void task_destroyed_while_running() noexcept {
    base::assert_fail("a task was destroyed while it was suspended", __FILE__, __LINE__);
}

void task_awaited_twice() noexcept {
    base::assert_fail("a task was awaited twice or after a move", __FILE__, __LINE__);
}

}  // namespace pillion::detail
