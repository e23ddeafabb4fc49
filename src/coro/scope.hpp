// scope: a nursery. Tasks spawned into it run concurrently on this thread, and the scope outlives
// them all: join() waits for the last one, the destructor asserts that there is none.
//
// Stopping them is not the scope's work: request the stop_node they were given, then join().
// Thread: one.
#pragma once

#include <coroutine>
#include <cstddef>

#include <pillion/task.hpp>

#include "coro/ready_queue.hpp"

namespace pillion::coro {

class scope {
 public:
    scope() noexcept = default;
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    // Asserts that no task runs and nobody waits in join().
    ~scope();

    // Starts `body` now; returns at its first suspension. Its frame dies when it ends. An exception
    // that leaves it is a bug and aborts.
    void spawn(task<void> body) noexcept;

    // Tasks spawned and not yet ended.
    std::size_t running() const noexcept { return running_; }

    class join_awaiter : private ready_node {
     public:
        explicit join_awaiter(scope& of) noexcept : scope_(&of) { run = &wake; }
        join_awaiter(const join_awaiter&) = delete;
        join_awaiter& operator=(const join_awaiter&) = delete;

        bool await_ready() const noexcept { return scope_->running_ == 0; }
        void await_suspend(std::coroutine_handle<> caller) noexcept;
        void await_resume() const noexcept {}

     private:
        friend class scope;
        static void wake(ready_node& node) noexcept;

        scope* scope_;
        std::coroutine_handle<> caller_;
    };
    // Suspends until no task runs. Tasks spawned meanwhile are waited for as well. One at a time.
    join_awaiter join() noexcept { return join_awaiter(*this); }

 private:
    friend class spawned;
    void begun() noexcept { ++running_; }
    void ended() noexcept;

    std::size_t running_ = 0;
    join_awaiter* joiner_ = nullptr;
};

// The return type of a coroutine that is a task of a scope by itself: the scope is its first
// parameter. It starts when it is called and frees itself at its end; an exception that leaves it
// is a bug and aborts. For those of whom there are many: spawn() takes a frame more.
class spawned {
 public:
    class promise_type {
     public:
        template <class... Rest>
        explicit promise_type(scope& of, Rest&...) noexcept : scope_(of) {
            of.begun();
        }
        // Of a member function.
        template <class Self, class... Rest>
        promise_type(Self&, scope& of, Rest&...) noexcept : scope_(of) {
            of.begun();
        }
        promise_type(const promise_type&) = delete;
        promise_type& operator=(const promise_type&) = delete;
        // All that was in the body is gone before the scope counts it as ended.
        ~promise_type() { scope_.ended(); }

        [[gnu::returns_nonnull]] static void* operator new(std::size_t bytes) {
            return pillion::detail::frame_allocate(bytes);
        }
        static void operator delete(void* frame, std::size_t bytes) noexcept {
            pillion::detail::frame_free(frame, bytes);
        }
        spawned get_return_object() const noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept;

     private:
        scope& scope_;
    };
};

}  // namespace pillion::coro
