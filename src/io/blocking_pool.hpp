// offload, blocking_pool: work that may block (name lookups, file metadata, long computations)
// leaves the loop for a few threads and reports back on the shard it came from.
//
// Thread-safety: submit() from any thread. `work` runs on a pool thread, `done_on_home` on the
// home reactor's thread. The pool must be destroyed before the reactors that use it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "pillion/result.hpp"

#include "base/unique_function.hpp"
#include "coro/ready_queue.hpp"
#include "io/reactor.hpp"

namespace pillion::io {

// Where blocking work goes. The simulation runs it inline.
class offload {
 public:
    virtual ~offload() = default;
    // False when the queue is full or no thread can be had: neither function will run.
    virtual bool submit(reactor& home, base::unique_function<void()> work,
                        base::unique_function<void()> done_on_home) = 0;
};

class blocking_pool final : public offload {
 public:
    // Threads start when there is work for them. At most `queue_max` jobs wait.
    explicit blocking_pool(std::size_t threads = 2, std::size_t queue_max = 256);
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;
    // Finishes jobs that began. Waiting ones are not run, but their done_on_home is still posted.
    ~blocking_pool() override;

    bool submit(reactor& home, base::unique_function<void()> work,
                base::unique_function<void()> done_on_home) override;

 private:
    struct state;
    std::unique_ptr<state> state_;
};

// Awaitable of run_blocking(). Lives in the awaiting frame; not cancellable once submitted.
template <class F>
class blocking_awaiter {
    using value = std::invoke_result_t<F&>;
    static_assert(!std::is_void_v<value>, "return something, if only a bool");

 public:
    blocking_awaiter(offload& to, reactor& home, F work)
        : to_(to), home_(home), work_(std::move(work)) {}
    blocking_awaiter(const blocking_awaiter&) = delete;
    blocking_awaiter& operator=(const blocking_awaiter&) = delete;

    bool await_ready() const noexcept { return false; }
    // Returns false (do not suspend) when the pool takes nothing.
    bool await_suspend(std::coroutine_handle<> waiting) {
        waiting_ = waiting;
        return to_.submit(
            home_, [this] { value_.emplace(work_()); }, [this] { resume_.schedule(waiting_); });
    }
    // The value; errc::unavailable when the work was not run (queue full, no thread, pool ended).
    result<value> await_resume() {
        if (!value_) {
            return error{errc::unavailable, "too much blocking work is waiting"};
        }
        return std::move(*value_);
    }

 private:
    offload& to_;
    reactor& home_;
    F work_;
    std::coroutine_handle<> waiting_;
    coro::resume_node resume_;
    std::optional<value> value_;
};

// `co_await run_blocking(pool, reactor, fn)` → result of fn(), run on a pool thread;
// errc::unavailable when the pool's queue is full, no thread can be had or the pool ends. fn must
// not throw.
template <class F>
blocking_awaiter<F> run_blocking(offload& to, reactor& home, F work) {
    return blocking_awaiter<F>(to, home, std::move(work));
}

}  // namespace pillion::io
