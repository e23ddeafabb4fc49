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
    struct runner;
    static runner run(scope& of, task<void> body) noexcept;
    void ended() noexcept;

    std::size_t running_ = 0;
    join_awaiter* joiner_ = nullptr;
};

}  // namespace pillion::coro
