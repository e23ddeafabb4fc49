// tick_clock: carries a clock that was just read on by the processor's counter of ticks, for who
// wants the time with every request. Reading the clock waits until the processor has finished all
// it is at (40 ns of a call of 700); the counter is read in passing.
//
// How fast the counter goes is measured against the clock all the time, and believed while two
// measurements agree; what is more than a millisecond past is not carried on. So a thread that was
// held up, a machine that moved or counters of processors that differ cost a true reading, and an
// error stays below that millisecond. Thread-safety: one thread each.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/clock.hpp"

namespace pillion::base {

class tick_clock {
 public:
    // Whether the processor counts ticks at a rate that never changes (invariant TSC).
    static bool available() noexcept {
#if defined(__x86_64__)
        constexpr unsigned power_management = 0x80000007;
        constexpr unsigned invariant = 1U << 8U;
        unsigned a = 0;
        unsigned b = 0;
        unsigned c = 0;
        unsigned d = 0;
        return __get_cpuid(power_management, &a, &b, &c, &d) != 0 && (d & invariant) != 0;
#else
        return false;
#endif
    }
    // The counter; means nothing where it is not available().
    static std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
        return __builtin_ia32_rdtsc();
#else
        return 0;
#endif
    }

    // The clock showed `ns`, just after the counter showed `ticks`.
    void set(std::int64_t ns, std::uint64_t ticks) noexcept {
        last_ = {ns, ticks};
        if (ns - base_.ns >= measure_ns) {
            measure();
        }
    }
    // The time when the counter shows `ticks`. False when it cannot tell: read the clock.
    bool at(std::uint64_t ticks, std::int64_t& ns) const noexcept {
        const std::uint64_t since = ticks - last_.ticks;
        if (since >= good_for_ticks_) {
            return false;
        }
        ns = last_.ns + static_cast<std::int64_t>((since * ns_per_tick_) >> 32U);
        return true;
    }

 private:
    static constexpr std::int64_t measure_ns = 10 * ns_per_ms;
    // Of the rate, between two measurements: far more than their own error.
    static constexpr double agree = 1.0 / 1024;
    // A counter that went back seems to have gone on for ages.
    static constexpr double rate_min = 1.0 / 256;

    struct reading {
        std::int64_t ns;
        std::uint64_t ticks;
    };

    void measure() noexcept {
        const auto ns = static_cast<double>(last_.ns - base_.ns);
        const double rate = ns / static_cast<double>(last_.ticks - base_.ticks);
        const bool agrees =
            rate > rate_min && rate > rate_ * (1 - agree) && rate < rate_ * (1 + agree);
        ns_per_tick_ = agrees ? static_cast<std::uint64_t>(rate * 4294967296.0) : 0;
        good_for_ticks_ = agrees ? static_cast<std::uint64_t>(ns_per_ms / rate) : 0;
        rate_ = rate;
        base_ = last_;
    }

    reading last_{0, 0};
    reading base_{0, 0};
    double rate_ = 0;
    std::uint64_t ns_per_tick_ = 0;  // in 2^-32
    std::uint64_t good_for_ticks_ = 0;
};

}  // namespace pillion::base
