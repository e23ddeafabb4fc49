// task<T>: the coroutine type of every handler.
//
// A task is lazy (nothing runs before it is awaited), move-only and awaited exactly once, by
// `co_await make_task()` or `co_await std::move(named)`. The awaiting coroutine owns the task until
// the await is over. A task may be destroyed before it was started or after it ended, never in
// between: stopping one means asking it to stop and waiting until it has returned.
//
// An exception that leaves the body is kept and thrown again where the task is awaited.
//
// GCC makes no tail calls without optimisation nor under its sanitizers; there a loop over tasks
// that complete at once would grow the stack. PILLION_CORO_TRAMPOLINE (detected below) then sends
// the awaiting coroutine through the ready queue of the thread. The layout of a frame does not
// depend on it, so translation units of both kinds link together. GCC does not tell -O1 and -Og
// from -O2: builds at these levels need -foptimize-sibling-calls or -DPILLION_CORO_TRAMPOLINE=1.
//
// Thread: a task runs and dies on the thread that made it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#ifndef PILLION_CORO_TRAMPOLINE
#if defined(__GNUC__) && !defined(__clang__) && \
    (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__))
#define PILLION_CORO_TRAMPOLINE 1
#else
#define PILLION_CORO_TRAMPOLINE 0
#endif
#endif

namespace pillion {

template <class T = void>
class task;

namespace detail {

// Something the thread's ready queue can run. `next` is null exactly while it is not queued (the
// last of a queue points to itself).
struct ready_node {
    ready_node* next = nullptr;
    void (*run)(ready_node&) noexcept = nullptr;
};

// Memory for a coroutine frame of this thread. Never null: exhaustion ends the process.
[[gnu::returns_nonnull]] void* frame_allocate(std::size_t bytes) noexcept;

// Gives back what frame_allocate returned for the same `bytes`, on the same thread.
void frame_free(void* frame, std::size_t bytes) noexcept;

// Appends `node` to the ready queue of this thread.
void ready_push(ready_node& node) noexcept;

// Reports that a started, unfinished task was destroyed, and aborts.
[[noreturn, gnu::cold]] void task_destroyed_while_running() noexcept;

// Reports that a task was awaited twice, or after it had been moved away, and aborts.
[[noreturn, gnu::cold]] void task_awaited_twice() noexcept;

// What the promises of all tasks share. The node serves the trampoline only.
class task_promise_base : public ready_node {
 public:
    // Where control goes at the end of the body.
    struct final_awaiter {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
            task_promise_base& promise = self.promise();
#if PILLION_CORO_TRAMPOLINE
            promise.run = &task_promise_base::resume_continuation;
            ready_push(promise);
            return std::noop_coroutine();
#else
            return promise.continuation_;
#endif
        }
        void await_resume() const noexcept {}
    };

    // Frames come from the pool of the thread. (noexcept here would make g++ ask for a way to
    // report null, which there is not.)
    [[gnu::returns_nonnull]] static void* operator new(std::size_t bytes) {
        return frame_allocate(bytes);
    }
    static void operator delete(void* frame, std::size_t bytes) noexcept {
        frame_free(frame, bytes);
    }

    // The task starts when it is awaited.
    std::suspend_always initial_suspend() const noexcept { return {}; }
    // The frame stays until the task object dies, since it holds the result.
    final_awaiter final_suspend() const noexcept { return {}; }

    // True once somebody has awaited the task.
    bool started() const noexcept { return static_cast<bool>(continuation_); }

    // Marks the task started; `continuation` runs when it ends.
    void start(std::coroutine_handle<> continuation) noexcept {
        if (started()) {
            task_awaited_twice();
        }
        continuation_ = continuation;
    }

 private:
    static void resume_continuation(ready_node& node) noexcept {
        static_cast<task_promise_base&>(node).continuation_.resume();
    }

    std::coroutine_handle<> continuation_;
};

// The promise of task<T>: room for a T or for the exception that took its place.
template <class T>
class task_promise final : public task_promise_base {
 public:
    task_promise() noexcept {}
    task_promise(const task_promise&) = delete;
    task_promise& operator=(const task_promise&) = delete;
    ~task_promise() {
        if (state_ == state::value) {
            value_.~T();
        } else if (state_ == state::failed) {
            failure_.~exception_ptr();
        }
    }

    // The task object that owns this frame.
    task<T> get_return_object() noexcept;

    // Keeps the result of the body.
    template <class U = T>
        requires std::is_constructible_v<T, U&&>
    void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U&&>) {
        ::new (static_cast<void*>(&value_)) T(std::forward<U>(value));
        state_ = state::value;
    }

    // Keeps what the body threw. A throwing destructor of a local may follow a kept value.
    void unhandled_exception() noexcept {
        if (state_ == state::value) {
            value_.~T();
        }
        ::new (static_cast<void*>(&failure_)) std::exception_ptr(std::current_exception());
        state_ = state::failed;
    }

    // Hands the result over, or throws what the body threw. REQUIRES: the body has ended.
    T take() {
        if (state_ == state::failed) {
            std::rethrow_exception(failure_);
        }
        return std::move(value_);
    }

 private:
    enum class state : std::uint8_t { empty, value, failed };

    union {
        T value_;
        std::exception_ptr failure_;
    };
    state state_ = state::empty;
};

// The promise of task<void>: nothing but a possible exception.
template <>
class task_promise<void> final : public task_promise_base {
 public:
    // The task object that owns this frame.
    task<void> get_return_object() noexcept;
    // The body ended well.
    void return_void() const noexcept {}
    // Keeps what the body threw.
    void unhandled_exception() noexcept { failure_ = std::current_exception(); }
    // Throws what the body threw, if it did. REQUIRES: the body has ended.
    void take() {
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

 private:
    std::exception_ptr failure_;
};

}  // namespace detail

template <class T>
class [[nodiscard]] task {
    static_assert(!std::is_reference_v<T>, "return a pointer or std::reference_wrapper instead");

 public:
    using promise_type = detail::task_promise<T>;
    using value_type = T;

    // An empty task; awaiting it aborts.
    task() noexcept = default;
    task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    task& operator=(task&& other) noexcept {
        if (this != &other) {
            destroy();
            frame_ = std::exchange(other.frame_, nullptr);
        }
        return *this;
    }
    ~task() { destroy(); }

    // True unless it is empty or was moved away.
    explicit operator bool() const noexcept { return static_cast<bool>(frame_); }

    // Starts the task and suspends the caller until it has ended.
    class awaiter {
     public:
        explicit awaiter(std::coroutine_handle<promise_type> of) noexcept : frame_(of) {}
        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
            if (!frame_) {
                detail::task_awaited_twice();
            }
            frame_.promise().start(caller);
            return frame_;
        }
        T await_resume() { return frame_.promise().take(); }

     private:
        std::coroutine_handle<promise_type> frame_;
    };
    // Awaits the task. Its result (or exception) is moved out, hence only rvalues.
    awaiter operator co_await() && noexcept { return awaiter(frame_); }

 private:
    friend promise_type;
    explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

    void destroy() noexcept {
        if (frame_) {
            if (frame_.promise().started() && !frame_.done()) {
                detail::task_destroyed_while_running();
            }
            frame_.destroy();
        }
    }

    std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
    return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

inline task<void> task_promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

}  // namespace detail
}  // namespace pillion
