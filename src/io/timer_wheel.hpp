// timer_wheel: hierarchical timers, 1 ms ticks, O(1) arm and cancel, no allocation.
//
// Nodes are embedded in their owner and unlinked by their destructor. Callbacks run from
// advance(), may arm, cancel and destroy any node including their own. Precision: a timer never
// fires early, and at most one tick plus one turn late. Thread: its shard.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pillion::io {

class timer_wheel;

class timer {
 public:
    using handler = void (*)(timer& self, void* owner) noexcept;
    timer(handler on_fire, void* owner) noexcept : on_fire_(on_fire), owner_(owner) {}
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;
    ~timer() { cancel(); }

    bool armed() const noexcept { return wheel_ != nullptr; }
    // Takes it out of the wheel; harmless when not armed.
    void cancel() noexcept;

 private:
    friend class timer_wheel;
    timer* next_ = nullptr;
    timer** link_ = nullptr;  // the pointer that points at this node
    timer_wheel* wheel_ = nullptr;
    std::int64_t due_ms_ = 0;
    std::uint16_t slot_ = 0;
    handler on_fire_;
    void* owner_;
};

class timer_wheel {
 public:
    explicit timer_wheel(std::int64_t now_ns) noexcept;
    timer_wheel(const timer_wheel&) = delete;
    timer_wheel& operator=(const timer_wheel&) = delete;
    // Asserts that no timer is armed.
    ~timer_wheel();

    // Arms (or re-arms) `t` to fire once when the clock has reached `due_ns` (monotonic).
    void arm(timer& t, std::int64_t due_ns) noexcept;

    // Fires everything due at `now_ns`. Returns how many fired.
    std::size_t advance(std::int64_t now_ns) noexcept;

    // Monotonic nanoseconds at which advance() has work next; INT64_MAX when nothing is armed. May
    // be earlier than the next timer (a cascade), never later.
    std::int64_t next_due_ns() const noexcept;

    std::size_t armed() const noexcept { return armed_; }

 private:
    friend class timer;
    static constexpr unsigned levels = 6;
    static constexpr unsigned slot_bits = 6;
    static constexpr unsigned slots = 1U << slot_bits;

    void place(timer& t) noexcept;
    void unlink(timer& t) noexcept;
    void cascade(unsigned level) noexcept;
    std::size_t fire_current() noexcept;
    std::int64_t next_event_ms() const noexcept;

    timer* slot_[levels * slots] = {};
    std::uint64_t occupied_[levels] = {};
    std::int64_t now_ms_;
    std::size_t armed_ = 0;
};

}  // namespace pillion::io
