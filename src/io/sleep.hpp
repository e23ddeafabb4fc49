// sleep: waiting for a moment of the reactor's clock, ended early by a stop request.
//
// The awaiter lives in the awaiting frame and holds the timer, so nothing is allocated. Timer and
// stop are events of one thread: whichever comes first disarms the other before it schedules the
// coroutine, so it is resumed exactly once, from the ready queue. Thread: the reactor's.
#pragma once

#include <coroutine>
#include <cstdint>

#include "coro/ready_queue.hpp"
#include "coro/stop.hpp"
#include "io/reactor.hpp"

namespace pillion::io {

class [[nodiscard]] sleep_awaiter {
 public:
    sleep_awaiter(reactor& on, std::int64_t due_ns, coro::stop_node* stop) noexcept
        : reactor_(on), due_ns_(due_ns), stop_(stop) {}
    sleep_awaiter(const sleep_awaiter&) = delete;
    sleep_awaiter& operator=(const sleep_awaiter&) = delete;

    // A stop that was requested before is not slept for.
    bool await_ready() noexcept {
        stopped_ = stop_ != nullptr && stop_->requested();
        return stopped_;
    }
    void await_suspend(std::coroutine_handle<> waiting) noexcept {
        waiting_ = waiting;
        reactor_.timers().arm(timer_, due_ns_);
        if (stop_ != nullptr) {
            on_stop_.attach(*stop_, &sleep_awaiter::stopped, this);
        }
    }
    // True: the whole time passed. False: stopped.
    bool await_resume() const noexcept { return !stopped_; }

 private:
    static void fired(timer&, void* self) noexcept {
        auto& me = *static_cast<sleep_awaiter*>(self);
        me.on_stop_.detach();
        me.resume_.schedule(me.waiting_);
    }
    static void stopped(void* self) noexcept {
        auto& me = *static_cast<sleep_awaiter*>(self);
        me.timer_.cancel();
        me.stopped_ = true;
        me.resume_.schedule(me.waiting_);
    }

    reactor& reactor_;
    std::int64_t due_ns_;
    coro::stop_node* stop_;
    bool stopped_ = false;
    std::coroutine_handle<> waiting_;
    coro::resume_node resume_;
    timer timer_{&sleep_awaiter::fired, this};
    coro::stop_callback on_stop_;
};

// `co_await sleep_until(reactor, due_ns, stop)` → true when the clock reached `due_ns` (monotonic),
// false when `stop` (may be null) was requested before.
inline sleep_awaiter sleep_until(reactor& on, std::int64_t due_ns,
                                 coro::stop_node* stop = nullptr) noexcept {
    return {on, due_ns, stop};
}

// The same, relative to the time of this turn.
inline sleep_awaiter sleep_for_ms(reactor& on, std::int64_t ms,
                                  coro::stop_node* stop = nullptr) noexcept {
    return {on, on.now_ns() + ms * 1'000'000, stop};
}

}  // namespace pillion::io
