// reactor: the loop of one shard. Owns the backend, the timer wheel, the chunk pool and the inbox
// for jobs from other threads; drives coroutines through the thread's ready queue.
//
// One turn: run what is ready (bounded) → flush streams that have output → enter the backend once
// (submit everything, wait if idle) → dispatch completions → fire timers → run the inbox.
//
// Thread: constructed on, run by and destroyed on its shard's thread; post() and stop() may be
// called from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/chunk.hpp"
#include "base/limits.hpp"
#include "base/tick_clock.hpp"
#include "base/unique_function.hpp"
#include "coro/ready_queue.hpp"
#include "io/backend.hpp"
#include "io/send_slots.hpp"
#include "io/timer_wheel.hpp"

namespace pillion::io {

// Something with output to flush at the end of the turn (a stream). Intrusive; queued once.
struct flushable {
    flushable* next_dirty = nullptr;
    flushable** dirty_link = nullptr;  // the pointer that points at this one, null when clean
    // Submits the output. May mark others, but not itself.
    virtual void flush() noexcept = 0;

 protected:
    ~flushable() = default;
};

// Bytes that wait for a peer. Above `high` its writer is asked to wait until there are fewer than
// `low`; above `hard`, the largest message apart, a socket is cut.
struct output_marks {
    std::size_t high = limits::out_queue_bytes_high;
    std::size_t low = limits::out_queue_bytes_low;
    std::size_t hard = limits::out_queue_bytes_hard;
};

class reactor {
 public:
    explicit reactor(std::unique_ptr<backend> with);
    reactor(const reactor&) = delete;
    reactor& operator=(const reactor&) = delete;
    ~reactor();

    // Runs turns until stop() was called. run_one() makes a single turn (tests, simulation);
    // it waits at most `wait_max_ns`.
    void run() noexcept;
    void run_one(std::int64_t wait_max_ns) noexcept;
    // Ends run() after the current turn, or the next run() at once. Any thread.
    void stop() noexcept;
    // Turns until no operation is in flight and nothing is ready to run, at most `limit_ms`: the
    // last step of a shutdown after everything was told to close. False when time ran out.
    bool drain(std::int64_t limit_ms) noexcept;

    // The time of this turn: one clock reading per turn.
    std::int64_t now_ns() const noexcept { return now_ns_; }
    std::int64_t unix_ms() const noexcept { return unix_ms_; }
    // The time now: after that of the turn where this thread was held up in it.
    std::int64_t clock_ns() const noexcept {
        std::int64_t ns = 0;
        return ticking_ && ticks_.at(base::tick_clock::ticks(), ns) ? ns : backend_->now_ns();
    }

    backend& ops() noexcept { return *backend_; }
    timer_wheel& timers() noexcept { return timers_; }
    base::chunk_pool& chunks() noexcept { return chunks_; }
    send_slots& sends() noexcept { return sends_; }

    // Arms a timer relative to this turn's clock.
    void arm_in_ms(timer& t, std::int64_t delay_ms) noexcept {
        timers_.arm(t, now_ns_ + delay_ms * 1'000'000);
    }

    // Asks for flush() at the end of this turn. unmark takes it back (a stream that dies).
    void mark_dirty(flushable& f) noexcept;
    void unmark_dirty(flushable& f) noexcept;

    // Runs `job` on this reactor's thread in one of its next turns. Any thread. Jobs posted by
    // one thread run in order. After the reactor ended, jobs are destroyed unrun.
    void post(base::unique_function<void()> job);

    // Turns made, and the ones that took longer than 10 ms of work (a handler blocks the loop).
    std::uint64_t turns() const noexcept { return turns_; }
    std::uint64_t slow_turns() const noexcept { return slow_turns_; }
    std::int64_t slowest_turn_ns() const noexcept { return slowest_turn_ns_; }
    // How long everybody waits at present: what the shorter of the last two turns took, so that one
    // stall is no overload. 0 after a pause.
    std::int64_t lag_ns() const noexcept { return lag_ns_; }

    // How much output may wait for a slow peer, for the streams of this loop.
    const output_marks& output() const noexcept { return output_; }
    void set_output(const output_marks& to) noexcept { output_ = to; }

 private:
    struct job_node;
    struct foreign_call;

    void read_clock() noexcept;
    void enter(std::int64_t wait_max_ns) noexcept;
    void dispatch() noexcept;
    void flush_dirty() noexcept;
    void run_inbox() noexcept;

    // Coroutines resumed in one turn, so that a busy one cannot starve the descriptors.
    static constexpr std::size_t resumptions_max = 256;
    static constexpr std::int64_t slow_turn_ns = 10'000'000;

    std::unique_ptr<backend> backend_;
    base::tick_clock ticks_;  // set once a turn
    const bool ticking_;
    std::int64_t now_ns_;
    std::int64_t unix_ms_;
    std::int64_t unix_read_ns_ = 0;  // when unix_ms_ was read
    base::chunk_pool chunks_;
    send_slots sends_;
    timer_wheel timers_;
    std::vector<completion> completions_;
    flushable* dirty_ = nullptr;
    std::atomic<job_node*> inbox_{nullptr};
    std::atomic<bool> stop_{false};
    // True while the loop may be asleep in the backend, so that posters know to wake it.
    std::atomic<bool> may_sleep_{false};
    // post() and stop() calls under way: their loop may end before they return, and must not be
    // destroyed under them.
    std::atomic<int> foreign_calls_{0};
    std::uint64_t turns_ = 0;
    std::uint64_t slow_turns_ = 0;
    std::int64_t slowest_turn_ns_ = 0;
    std::int64_t turn_took_ns_ = 0;
    std::int64_t lag_ns_ = 0;
    output_marks output_;
};

}  // namespace pillion::io
