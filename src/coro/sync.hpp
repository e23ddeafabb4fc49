// sync: event, semaphore and yield for coroutines of one thread.
//
// A waiter lives in the awaiter, in the frame of whoever waits: no heap. Waiters are resumed in the
// order they came, through the ready queue, never inside set() or release().
//
// A wait that is given a stop_node ends with true when it got what it waited for and with false
// when it was stopped. Whichever comes first wins, also within one turn: a waiter that was handed
// a permit keeps it although a stop follows before it runs.
//
// An event or semaphore must outlive its waiters (asserted). Thread: one.
#pragma once

#include <coroutine>
#include <cstddef>

#include "base/assert.hpp"
#include "base/intrusive_list.hpp"
#include "coro/ready_queue.hpp"
#include "coro/stop.hpp"

namespace pillion::coro {

namespace detail {

// One suspended coroutine in the list of an event or semaphore.
class waiter : public base::list_hook<> {
 public:
    explicit waiter(stop_node* stop) noexcept : stop_(stop) {}
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    // True when its stop_node is requested already.
    bool stopped() const noexcept { return stop_ != nullptr && stop_->requested(); }

    // Registers `caller` in `list` and with the stop_node. REQUIRES: !stopped().
    void wait_in(base::intrusive_list<waiter>& list, std::coroutine_handle<> caller) noexcept {
        node_.handle = caller;
        list.push_back(*this);
        if (stop_ != nullptr) {
            callback_.attach(*stop_, &on_stop, this);
        }
    }

    // Hands over what was waited for. REQUIRES: it is out of its list.
    void grant() noexcept {
        callback_.detach();
        granted_ = true;
        ready_queue::current().push(node_);
    }

 protected:
    ~waiter() = default;
    bool granted_ = false;

 private:
    static void on_stop(void* self) noexcept {
        auto& me = *static_cast<waiter*>(self);
        me.unlink();
        ready_queue::current().push(me.node_);
    }

    stop_node* stop_;
    resume_node node_;
    stop_callback callback_;
};

using waiter_list = base::intrusive_list<waiter>;

}  // namespace detail

// A flag that can be waited for; it stays set until reset().
class event {
 public:
    explicit event(bool set = false) noexcept : set_(set) {}
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    // True between set() and reset().
    bool is_set() const noexcept { return set_; }

    // Sets it and releases all waiters. These go on even if reset() follows before they run.
    void set() noexcept {
        set_ = true;
        while (detail::waiter* waiter = waiters_.pop_front()) {
            waiter->grant();
        }
    }

    // Clears it; later waiters wait again.
    void reset() noexcept { set_ = false; }

    class stoppable_awaiter : public detail::waiter {
     public:
        stoppable_awaiter(event& on, stop_node* stop) noexcept : waiter(stop), event_(&on) {}
        bool await_ready() noexcept {
            granted_ = event_->set_;
            return granted_ || stopped();
        }
        void await_suspend(std::coroutine_handle<> caller) noexcept {
            wait_in(event_->waiters_, caller);
        }
        bool await_resume() const noexcept { return granted_; }

     private:
        event* event_;
    };
    class awaiter : public stoppable_awaiter {
     public:
        explicit awaiter(event& on) noexcept : stoppable_awaiter(on, nullptr) {}
        void await_resume() const noexcept {}
    };

    // Suspends until it is set.
    [[nodiscard]] awaiter wait() noexcept { return awaiter(*this); }
    // The same, but ends with false when `stop` (may be null: never) is requested first. An event
    // that is set wins over a stop that was requested before the wait.
    [[nodiscard]] stoppable_awaiter wait(stop_node* stop) noexcept {
        return stoppable_awaiter(*this, stop);
    }

 private:
    detail::waiter_list waiters_;
    bool set_;
};

// A bounded number of permits. They are handed to waiters directly, in order: nobody overtakes.
class semaphore {
 public:
    // All `permits` are free at first; there are never more.
    explicit semaphore(std::size_t permits) noexcept : free_(permits), permits_(permits) {}
    semaphore(const semaphore&) = delete;
    semaphore& operator=(const semaphore&) = delete;

    // Permits nobody holds.
    std::size_t available() const noexcept { return free_; }

    // Takes a permit if one is free.
    [[nodiscard]] bool try_acquire() noexcept {
        if (free_ == 0) {
            return false;
        }
        --free_;
        return true;
    }

    // Gives one permit back. REQUIRES: one is held.
    void release() noexcept {
        if (detail::waiter* waiter = waiters_.pop_front()) {
            waiter->grant();
            return;
        }
        PILLION_ASSERT(free_ < permits_);
        ++free_;
    }

    class stoppable_awaiter : public detail::waiter {
     public:
        stoppable_awaiter(semaphore& of, stop_node* stop) noexcept
            : waiter(stop), semaphore_(&of) {}
        bool await_ready() noexcept {
            if (stopped()) {
                return true;
            }
            granted_ = semaphore_->try_acquire();
            return granted_;
        }
        void await_suspend(std::coroutine_handle<> caller) noexcept {
            wait_in(semaphore_->waiters_, caller);
        }
        bool await_resume() const noexcept { return granted_; }

     private:
        semaphore* semaphore_;
    };
    class awaiter : public stoppable_awaiter {
     public:
        explicit awaiter(semaphore& of) noexcept : stoppable_awaiter(of, nullptr) {}
        void await_resume() const noexcept {}
    };

    // Suspends until the caller holds a permit.
    [[nodiscard]] awaiter acquire() noexcept { return awaiter(*this); }
    // The same, but ends with false (and no permit) when `stop` (may be null: never) is requested
    // before the permit was handed over, or was before the call.
    [[nodiscard]] stoppable_awaiter acquire(stop_node* stop) noexcept {
        return stoppable_awaiter(*this, stop);
    }

 private:
    detail::waiter_list waiters_;
    std::size_t free_;
    std::size_t permits_;
};

class yield_awaiter {
 public:
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> caller) noexcept { node_.schedule(caller); }
    void await_resume() const noexcept {}

 private:
    resume_node node_;
};

// Lets everything that is ready run first.
[[nodiscard]] inline yield_awaiter yield() noexcept { return {}; }

}  // namespace pillion::coro
