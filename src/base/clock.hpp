// clock: the two clocks of the operating system, as plain integers with their unit in the name.
//
// Code that must be testable in virtual time takes its time from the reactor; only that and
// start-up code call these.
#pragma once

#include <compare>
#include <cstdint>

namespace pillion::base {

inline constexpr std::int64_t ns_per_us = 1'000;
inline constexpr std::int64_t ns_per_ms = 1'000'000;
inline constexpr std::int64_t ns_per_s = 1'000'000'000;

// A point of the monotonic clock. Strong, so that it never mixes with wall time or a duration.
struct monotonic_ns {
    std::int64_t value = 0;

    // Points are ordered.
    friend constexpr auto operator<=>(monotonic_ns, monotonic_ns) noexcept = default;
    // The point `ms` milliseconds later; the far end of time instead of an overflow.
    constexpr monotonic_ns plus_ms(std::int64_t ms) const noexcept {
        std::int64_t ns = 0;
        std::int64_t sum = 0;
        if (__builtin_mul_overflow(ms, ns_per_ms, &ns) || __builtin_add_overflow(value, ns, &sum)) {
            return monotonic_ns{ms < 0 ? INT64_MIN : INT64_MAX};
        }
        return monotonic_ns{sum};
    }
};

// Nanoseconds since an arbitrary start; never goes back (CLOCK_MONOTONIC).
std::int64_t monotonic_now_ns() noexcept;

// The same as a strong type.
inline monotonic_ns monotonic_now() noexcept { return monotonic_ns{monotonic_now_ns()}; }

// Nanoseconds that the thread has run, without those it waited for a processor. A system call.
std::int64_t thread_now_ns() noexcept;

// Since 1970 (CLOCK_REALTIME); may jump. For dates and logs only.
std::int64_t unix_now_ns() noexcept;
std::int64_t unix_now_ms() noexcept;

}  // namespace pillion::base
