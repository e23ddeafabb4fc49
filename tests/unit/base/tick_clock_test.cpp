#include "base/tick_clock.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace pillion::base {
namespace {

// A counter that goes on by `per_ns` ticks a nanosecond.
struct counter {
    double per_ns = 2.5;
    std::uint64_t begin = 900'000'000'000;  // before the clock
    std::uint64_t at(std::int64_t ns) const {
        return begin + static_cast<std::uint64_t>(static_cast<double>(ns) * per_ns);
    }
};

constexpr std::int64_t start_ns = 5 * ns_per_s;
constexpr std::int64_t measure_ns = 10 * ns_per_ms;

// Set often enough to know the counter's rate, the last time at what is returned.
std::int64_t known(tick_clock& clock, const counter& c, std::int64_t from_ns) {
    for (int i = 0; i < 3; ++i) {
        clock.set(from_ns + i * measure_ns, c.at(from_ns + i * measure_ns));
    }
    return from_ns + 2 * measure_ns;
}

TEST(tick_clock_test, tells_the_time_between_readings) {
    for (const double per_ns : {0.1, 1.0, 2.5, 5.0, 100.0}) {
        const counter c{.per_ns = per_ns};
        tick_clock clock;
        const std::int64_t last_ns = known(clock, c, start_ns);
        for (std::int64_t since_ns = 0; since_ns < 999'000; since_ns += 997) {
            std::int64_t ns = 0;
            ASSERT_TRUE(clock.at(c.at(last_ns + since_ns), ns)) << per_ns << ' ' << since_ns;
            ASSERT_NEAR(static_cast<double>(ns), static_cast<double>(last_ns + since_ns), 12);
            ASSERT_GE(ns, last_ns);
        }
    }
}

TEST(tick_clock_test, does_not_guess_before_it_knows_the_rate) {
    const counter c;
    tick_clock clock;
    std::int64_t ns = 7;
    EXPECT_FALSE(clock.at(c.at(start_ns), ns));
    for (int i = 0; i < 2; ++i) {
        const std::int64_t at_ns = start_ns + i * measure_ns;
        clock.set(at_ns, c.at(at_ns));
        EXPECT_FALSE(clock.at(c.at(at_ns + 1), ns)) << i;
    }
    EXPECT_EQ(ns, 7);
    clock.set(start_ns + 2 * measure_ns, c.at(start_ns + 2 * measure_ns));
    EXPECT_TRUE(clock.at(c.at(start_ns + 2 * measure_ns + 1), ns));
}

TEST(tick_clock_test, does_not_carry_on_what_is_long_past) {
    const counter c;
    tick_clock clock;
    const std::int64_t last_ns = known(clock, c, start_ns);
    std::int64_t ns = 0;
    EXPECT_TRUE(clock.at(c.at(last_ns + 990'000), ns));
    EXPECT_FALSE(clock.at(c.at(last_ns + 1'010'000), ns));
    EXPECT_FALSE(clock.at(c.at(last_ns + ns_per_s), ns));
    // Another processor's counter, which is behind.
    EXPECT_FALSE(clock.at(c.at(last_ns) - 1, ns));
}

// The machine moved to another one, or the thread was held up between the two readings of a pair.
TEST(tick_clock_test, does_not_believe_a_rate_that_has_changed) {
    counter c;
    tick_clock clock;
    std::int64_t last_ns = known(clock, c, start_ns);
    c.begin -= 400'000'000;  // goes back
    std::int64_t ns = 0;
    for (int i = 0; i < 2; ++i) {
        last_ns += measure_ns;
        clock.set(last_ns, c.at(last_ns));
        EXPECT_FALSE(clock.at(c.at(last_ns + 1), ns)) << i;
    }
    EXPECT_EQ(known(clock, c, last_ns + measure_ns), last_ns + 3 * measure_ns);
    EXPECT_TRUE(clock.at(c.at(last_ns + 3 * measure_ns + 1), ns));

    last_ns += 4 * measure_ns;
    clock.set(last_ns, c.at(last_ns) - 50'000);  // 2 ‰ of the time that is measured
    EXPECT_FALSE(clock.at(c.at(last_ns + 1), ns));
    last_ns += measure_ns;
    clock.set(last_ns, c.at(last_ns));
    EXPECT_FALSE(clock.at(c.at(last_ns + 1), ns));
}

TEST(tick_clock_test, a_counter_that_stands_still_tells_nothing) {
    tick_clock clock;
    std::int64_t ns = 0;
    for (int i = 0; i < 5; ++i) {
        clock.set(start_ns + i * measure_ns, 0);
        EXPECT_FALSE(clock.at(0, ns));
    }
}

// The real pair: never ahead of a clock that is read afterwards by more than its error allows.
TEST(tick_clock_test, agrees_with_the_clock_of_this_machine) {
    const bool available = tick_clock::available();
    tick_clock clock;
    int told = 0;
    const std::int64_t end_ns = monotonic_now_ns() + 100 * ns_per_ms;
    for (std::int64_t now_ns = 0; now_ns < end_ns;) {
        const std::uint64_t ticks = available ? tick_clock::ticks() : 0;
        now_ns = monotonic_now_ns();
        clock.set(now_ns, ticks);
        for (int i = 0; i < 10; ++i) {
            const std::int64_t before_ns = monotonic_now_ns();
            std::int64_t ns = 0;
            if (clock.at(available ? tick_clock::ticks() : 0, ns)) {
                ++told;
                ASSERT_LE(ns, monotonic_now_ns() + ns_per_ms);
                ASSERT_GE(ns, before_ns - 10 * ns_per_us);
            }
        }
    }
    EXPECT_EQ(told > 0, available);
}

}  // namespace
}  // namespace pillion::base
