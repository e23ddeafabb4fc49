// A timer lives on the level of the highest 6-bit digit in which its due time differs from the
// wheel's clock, in the slot of that digit. Thus the lowest occupied level always holds the next
// event, and everything on a level lies within the clock's current block of the level above. Only
// the top level wraps: its slots at or below the clock's digit belong to the next round.
#include "io/timer_wheel.hpp"

#include <bit>

#include "base/assert.hpp"

namespace pillion::io {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t never = INT64_MAX;

}  // namespace

void timer::cancel() noexcept {
    if (wheel_ != nullptr) {
        wheel_->unlink(*this);
    }
}

timer_wheel::timer_wheel(std::int64_t now_ns) noexcept : now_ms_(now_ns / ns_per_ms) {}

timer_wheel::~timer_wheel() { PILLION_ASSERT(armed_ == 0); }

void timer_wheel::arm(timer& t, std::int64_t due_ns) noexcept {
    t.cancel();
    std::int64_t due_ms = due_ns / ns_per_ms + (due_ns % ns_per_ms > 0 ? 1 : 0);
    // A timer that is due already fires in the next tick, so that a handler which re-arms itself
    // without delay cannot keep advance() busy for ever.
    if (due_ms <= now_ms_) {
        due_ms = now_ms_ + 1;
    }
    t.due_ms_ = due_ms;
    t.wheel_ = this;
    ++armed_;
    place(t);
}

void timer_wheel::place(timer& t) noexcept {
    constexpr unsigned top = levels - 1;
    constexpr std::int64_t reach = std::int64_t{slots - 1} << (slot_bits * top);
    // Further away than the wheel reaches: parked in the last slot, placed anew from there.
    const std::int64_t at = t.due_ms_ - now_ms_ < reach ? t.due_ms_ : now_ms_ + reach;
    const auto differ = static_cast<std::uint64_t>(at ^ now_ms_);
    unsigned level =
        differ == 0 ? 0 : (static_cast<unsigned>(std::bit_width(differ)) - 1) / slot_bits;
    if (level > top) {
        level = top;
    }
    const auto digit = static_cast<unsigned>(at >> (slot_bits * level)) & (slots - 1);
    t.slot_ = static_cast<std::uint16_t>(level * slots + digit);
    timer*& head = slot_[t.slot_];
    t.next_ = head;
    t.link_ = &head;
    if (head != nullptr) {
        head->link_ = &t.next_;
    }
    head = &t;
    occupied_[level] |= std::uint64_t{1} << digit;
}

void timer_wheel::unlink(timer& t) noexcept {
    *t.link_ = t.next_;
    if (t.next_ != nullptr) {
        t.next_->link_ = t.link_;
    }
    t.next_ = nullptr;
    t.link_ = nullptr;
    t.wheel_ = nullptr;
    --armed_;
    if (slot_[t.slot_] == nullptr) {
        occupied_[t.slot_ / slots] &= ~(std::uint64_t{1} << (t.slot_ % slots));
    }
}

std::int64_t timer_wheel::next_event_ms() const noexcept {
    for (unsigned level = 0; level < levels; ++level) {
        if (occupied_[level] == 0) {
            continue;
        }
        const unsigned shift = slot_bits * level;
        const auto digit = static_cast<unsigned>(now_ms_ >> shift) & (slots - 1);
        const std::int64_t block = (now_ms_ >> shift >> slot_bits) << slot_bits << shift;
        const std::uint64_t later = digit == slots - 1 ? 0 : occupied_[level] >> (digit + 1);
        if (later != 0) {
            const unsigned next = digit + 1 + static_cast<unsigned>(std::countr_zero(later));
            return block + (std::int64_t{next} << shift);
        }
        const auto next = static_cast<unsigned>(std::countr_zero(occupied_[level]));
        return block + (std::int64_t{slots} << shift) + (std::int64_t{next} << shift);
    }
    return never;
}

std::int64_t timer_wheel::next_due_ns() const noexcept {
    const std::int64_t at = next_event_ms();
    return at >= never / ns_per_ms ? never : at * ns_per_ms;
}

void timer_wheel::cascade(unsigned level) noexcept {
    const auto digit = static_cast<unsigned>(now_ms_ >> (slot_bits * level)) & (slots - 1);
    timer* list = slot_[level * slots + digit];
    slot_[level * slots + digit] = nullptr;
    occupied_[level] &= ~(std::uint64_t{1} << digit);
    while (list != nullptr) {
        timer& t = *list;
        list = t.next_;
        place(t);
    }
}

std::size_t timer_wheel::fire_current() noexcept {
    const auto digit = static_cast<unsigned>(now_ms_) & (slots - 1);
    // The list is moved to a local head first: what the handlers arm must not join it.
    timer* due = slot_[digit];
    slot_[digit] = nullptr;
    occupied_[0] &= ~(std::uint64_t{1} << digit);
    if (due != nullptr) {
        due->link_ = &due;
    }
    std::size_t fired = 0;
    while (due != nullptr) {
        timer& t = *due;
        unlink(t);
        ++fired;
        t.on_fire_(t, t.owner_);
    }
    return fired;
}

std::size_t timer_wheel::advance(std::int64_t now_ns) noexcept {
    const std::int64_t target = now_ns / ns_per_ms;
    std::size_t fired = 0;
    for (std::int64_t at = next_event_ms(); at <= target; at = next_event_ms()) {
        now_ms_ = at;
        for (unsigned level = levels - 1; level > 0; --level) {
            // Only a slot whose start is exactly now can be due on the upper levels.
            if ((at & ((std::int64_t{1} << (slot_bits * level)) - 1)) == 0) {
                cascade(level);
            }
        }
        fired += fire_current();
    }
    if (target > now_ms_) {
        now_ms_ = target;
    }
    return fired;
}

}  // namespace pillion::io
