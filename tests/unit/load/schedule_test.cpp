// Goal: requests are due when the rate says, on ramps as well. Method: what was due until a time is
// compared with the integral of the rate.

#include "bench/load/schedule.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace pillion::load {
namespace {

constexpr std::int64_t s = 1'000'000'000;

TEST(schedule, fixed_rate) {
    const schedule at(1000, 1000, s, 10 * s);
    EXPECT_TRUE(at.is_open());
    EXPECT_EQ(at.due_ns(0), 0);
    EXPECT_EQ(at.due_ns(1), 1'000'000);
    EXPECT_EQ(at.due_ns(20'000), 20 * s);  // on behind its end
    EXPECT_DOUBLE_EQ(at.rate_at(3), 1000);
    // Without end there is nothing that a ramp could end at.
    EXPECT_EQ(schedule(100, 900, 0, 0).due_ns(100), s);
    EXPECT_FALSE(schedule().is_open());
    EXPECT_EQ(schedule().rate_at(1), 0);
}

// How many are due before a time, by the rates from which they come.
double due_until(double t_s, double from, double to, double warm_up_s, double duration_s) {
    const double warm = std::min(t_s, warm_up_s) * from;
    const double ramp = std::clamp(t_s - warm_up_s, 0.0, duration_s);
    const double after = std::max(t_s - warm_up_s - duration_s, 0.0);
    return warm + from * ramp + (to - from) * ramp * ramp / (2 * duration_s) + after * to;
}

TEST(schedule, ramps) {
    const std::pair<double, double> ramps[] = {
        {100, 5000}, {5000, 100}, {1000, 1000.001}, {0.001, 100'000}, {2000, 0.001}};
    for (const auto& [from, to] : ramps) {
        for (const std::int64_t warm_up : {std::int64_t{0}, 2 * s}) {
            const schedule at(from, to, warm_up, 4 * s);
            const double warm_s = static_cast<double>(warm_up) / 1e9;
            const auto all = static_cast<std::uint64_t>(due_until(warm_s + 5, from, to, warm_s, 4));
            std::int64_t last = -1;
            for (std::uint64_t i = 0; i < all; i += 1 + all / 1000) {
                const std::int64_t due = at.due_ns(i);
                EXPECT_GT(due, last);
                last = due;
                const double until = due_until(static_cast<double>(due) / 1e9, from, to, warm_s, 4);
                EXPECT_NEAR(until, static_cast<double>(i), 0.01) << from << " to " << to;
            }
            EXPECT_DOUBLE_EQ(at.rate_at(0), from);
            EXPECT_NEAR(at.rate_at(2), (from + to) / 2, 1e-6);
            EXPECT_DOUBLE_EQ(at.rate_at(9), to);
        }
    }
}

TEST(schedule, words) {
    rate_words rates;
    EXPECT_TRUE(parse_rates("500", rates) && rates.from == rates.to && rates.steps.empty());
    EXPECT_DOUBLE_EQ(rates.from, 500);
    EXPECT_TRUE(parse_rates("0.5..2000", rates) && rates.steps.empty());
    EXPECT_DOUBLE_EQ(rates.from, 0.5);
    EXPECT_DOUBLE_EQ(rates.to, 2000);
    EXPECT_TRUE(parse_rates("10,20.5,30", rates));
    EXPECT_EQ(rates.steps, (std::vector<double>{10, 20.5, 30}));
    for (const char* const bad : {"", "0", "-1", "1,", ",1", "1,,2", "1..", "..1", "1..2..3",
                                  "1..2,3", "1, 2", "20000000", "1.2.3", "nan", "1e3"}) {
        EXPECT_FALSE(parse_rates(bad, rates)) << bad;
    }
    std::vector<std::size_t> numbers;
    EXPECT_TRUE(parse_connections("64", 100, numbers));
    EXPECT_EQ(numbers, (std::vector<std::size_t>{64}));
    EXPECT_TRUE(parse_connections("1,16,100", 100, numbers));
    EXPECT_EQ(numbers, (std::vector<std::size_t>{1, 16, 100}));
    for (const char* const bad : {"", "0", "101", "-1", "1,", "1,,2", "x", "1.5"}) {
        EXPECT_FALSE(parse_connections(bad, 100, numbers)) << bad;
    }
}

}  // namespace
}  // namespace pillion::load
