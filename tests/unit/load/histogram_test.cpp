// Goal: percentiles are right to 0.4 %. Method: the same values in the histogram and sorted, for
// distributions of different shapes.

#include "bench/load/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::load {
namespace {

constexpr double relative_error_max = 0.004;

std::int64_t exact(std::vector<std::int64_t> sorted, double percent) {
    std::sort(sorted.begin(), sorted.end());
    const auto rank = static_cast<std::size_t>(
        std::ceil(percent * static_cast<double>(sorted.size()) / 100 - 1e-6));
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void expect_exact(const std::vector<std::int64_t>& values) {
    latency_histogram h;
    double sum = 0;
    for (const std::int64_t value : values) {
        h.add(value);
        sum += static_cast<double>(value);
    }
    ASSERT_EQ(h.count(), values.size());
    for (const double percent : {0.1, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
        const auto want = static_cast<double>(exact(values, percent));
        EXPECT_NEAR(static_cast<double>(h.percentile_ns(percent)), want, want * relative_error_max)
            << percent;
    }
    EXPECT_EQ(h.min_ns(), exact(values, 0));
    EXPECT_EQ(h.max_ns(), exact(values, 100));
    EXPECT_NEAR(h.mean_ns(), sum / static_cast<double>(values.size()), 1);
}

std::vector<std::int64_t> drawn(std::size_t count, const std::function<double()>& draw) {
    std::vector<std::int64_t> values(count);
    for (std::int64_t& value : values) {
        value = std::llround(draw());
    }
    return values;
}

TEST(histogram, known_distributions) {
    std::mt19937_64 dice(1);
    std::uniform_real_distribution<double> uniform(50'000, 5'000'000);
    expect_exact(drawn(20'000, [&] { return uniform(dice); }));
    std::exponential_distribution<double> exponential(1 / 400'000.0);
    expect_exact(drawn(20'000, [&] { return exponential(dice); }));
    std::lognormal_distribution<double> heavy(12, 2);
    expect_exact(drawn(20'000, [&] { return heavy(dice); }));
    // Two peaks, the second one of a stall.
    expect_exact(drawn(20'000, [&] { return dice() % 100 == 0 ? 2e9 : uniform(dice) / 100; }));
}

TEST(histogram, one_value_is_every_percentile) {
    for (const std::int64_t value : {0, 1, 255, 256, 257, 1'000'003}) {
        latency_histogram h;
        h.add(value);
        EXPECT_EQ(h.percentile_ns(50), value);
        EXPECT_EQ(h.percentile_ns(99.99), value);
    }
}

TEST(histogram, every_magnitude_is_within_the_error) {
    for (std::int64_t value = 1; value < latency_histogram::largest_ns / 3;
         value += 1 + value / 7) {
        latency_histogram h;
        h.add(value);
        h.add(value);
        h.add(value * 3);  // so that the maximum does not help
        EXPECT_NEAR(static_cast<double>(h.percentile_ns(50)), static_cast<double>(value),
                    static_cast<double>(value) * relative_error_max);
    }
}

TEST(histogram, empty_and_beyond_the_end) {
    latency_histogram h;
    EXPECT_EQ(h.percentile_ns(99), 0);
    EXPECT_EQ(h.min_ns(), 0);
    EXPECT_EQ(h.mean_ns(), 0);
    h.add(-5);
    h.add(INT64_MAX / 4);
    EXPECT_EQ(h.min_ns(), 0);
    EXPECT_EQ(h.max_ns(), INT64_MAX / 4);
    EXPECT_EQ(h.percentile_ns(50), 0);
    EXPECT_EQ(h.percentile_ns(100), INT64_MAX / 4);
}

TEST(histogram, merged_is_as_if_added_to_one) {
    latency_histogram a;
    latency_histogram b;
    latency_histogram all;
    std::mt19937_64 dice(2);
    for (int i = 0; i < 5000; ++i) {
        const auto value = static_cast<std::int64_t>(dice() % 10'000'000);
        (i % 3 == 0 ? a : b).add(value);
        all.add(value);
    }
    a.merge(b);
    for (const double percent : {1.0, 50.0, 99.0, 99.9}) {
        EXPECT_EQ(a.percentile_ns(percent), all.percentile_ns(percent));
    }
    EXPECT_EQ(a.count(), all.count());
    EXPECT_EQ(a.max_ns(), all.max_ns());
    EXPECT_EQ(a.min_ns(), all.min_ns());
    a.clear();
    EXPECT_EQ(a.count(), 0U);
}

// 99.9 % of 1000 values is the 999th: 0.999 is no binary fraction, and 1000 of them would be asked
// for one more.
TEST(histogram, rank_is_not_rounded_up_by_the_fraction) {
    latency_histogram h;
    for (int i = 0; i < 999; ++i) {
        h.add(100);
    }
    h.add(200);
    EXPECT_EQ(h.percentile_ns(99.9), 100);
    EXPECT_EQ(h.percentile_ns(99.91), 200);
}

}  // namespace
}  // namespace pillion::load
