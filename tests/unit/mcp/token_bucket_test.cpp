// Token buckets at their boundaries, and over long virtual times.
#include "mcp/token_bucket.hpp"

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

constexpr std::int64_t one_second = 1'000'000'000;

TEST(token_bucket, gives_its_burst_at_once_and_then_one_per_period) {
    const bucket_rate rate = bucket_rate::of(10, 3);
    token_bucket b;
    const std::int64_t now = 7 * one_second;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(b.take(rate, now), 0) << i;
    }
    EXPECT_EQ(b.take(rate, now), one_second / 10);
    EXPECT_EQ(b.take(rate, now + one_second / 10 - 1), 1);
    EXPECT_EQ(b.take(rate, now + one_second / 10), 0);
    EXPECT_EQ(b.take(rate, now + one_second / 10), one_second / 10);
    // Full again, and no fuller than that.
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(b.take(rate, now + 100 * one_second), 0) << i;
    }
    EXPECT_GT(b.take(rate, now + 100 * one_second), 0);
}

TEST(token_bucket, a_refusal_costs_nothing) {
    const bucket_rate rate = bucket_rate::of(1, 1);
    token_bucket b;
    ASSERT_EQ(b.take(rate, one_second), 0);
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(b.take(rate, one_second), one_second);
    }
    EXPECT_EQ(b.take(rate, 2 * one_second), 0);
}

// Asked every microsecond for ten minutes of virtual time.
TEST(token_bucket, never_gives_more_than_the_rate_however_odd_it_is) {
    for (const double per_second : {0.5, 1.0, 3.0, 7.0, 333.0, 999.0}) {
        constexpr std::int64_t burst = 5;
        const bucket_rate rate = bucket_rate::of(per_second, burst);
        token_bucket b;
        std::int64_t given = 0;
        constexpr std::int64_t step = one_second / 2003;
        constexpr std::int64_t length = 600 * one_second;
        for (std::int64_t at = 0; at < length; at += step) {
            given += b.take(rate, at) == 0 ? 1 : 0;
        }
        const double most = per_second * 600 + burst;
        EXPECT_LE(static_cast<double>(given), most) << per_second;
        EXPECT_GE(static_cast<double>(given), (most - burst) * 0.999 - 1) << per_second;
    }
}

TEST(token_bucket, without_a_burst_of_its_own_it_is_what_a_second_gives) {
    const auto burst_of = [](double per_second) {
        const bucket_rate rate = bucket_rate::of(per_second, 0);
        return rate.depth_ns / rate.period_ns;
    };
    EXPECT_EQ(burst_of(20), 20);
    EXPECT_EQ(burst_of(0.01), 1);
    EXPECT_EQ(burst_of(2.9), 2);
}

TEST(token_bucket, extreme_rates_do_not_overflow) {
    for (const double per_second : {1e-300, 1e-9, 1e9, 1e300}) {
        for (const std::int64_t burst : {std::int64_t{1}, INT64_MAX}) {
            const bucket_rate rate = bucket_rate::of(per_second, burst);
            EXPECT_TRUE(rate.limited());
            token_bucket b;
            constexpr std::int64_t century = one_second * 86'400 * 365 * 100;
            EXPECT_EQ(b.take(rate, century), 0);
            EXPECT_GE(rate.depth_ns, rate.period_ns);
        }
    }
}

// A reload makes the rate smaller while the bucket is in debt.
TEST(token_bucket, another_rate_counts_from_the_next_token_on) {
    token_bucket b;
    const bucket_rate wide = bucket_rate::of(1, 100);
    const bucket_rate narrow = bucket_rate::of(1, 1);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(b.take(wide, 0), 0);
    }
    EXPECT_EQ(b.take(narrow, 0), 100 * one_second);
    EXPECT_EQ(b.take(narrow, 100 * one_second), 0);
}

TEST(retry_seconds, are_whole_and_at_least_one) {
    EXPECT_EQ(retry_seconds(0), 1U);
    EXPECT_EQ(retry_seconds(1), 1U);
    EXPECT_EQ(retry_seconds(one_second), 1U);
    EXPECT_EQ(retry_seconds(one_second + 1), 2U);
    EXPECT_EQ(retry_seconds(INT64_MAX), 86'400U);
}

}  // namespace
}  // namespace pillion::mcp
