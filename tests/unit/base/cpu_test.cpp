#include "base/cpu.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

TEST(cpu, quota_is_rounded_up_and_malformed_means_unlimited) {
    EXPECT_EQ(detail::quota_of("max 100000"), 0U);
    EXPECT_EQ(detail::quota_of("-1 100000"), 0U);
    EXPECT_EQ(detail::quota_of(""), 0U);
    EXPECT_EQ(detail::quota_of("100000 0"), 0U);
    EXPECT_EQ(detail::quota_of("1 100000"), 1U);
    EXPECT_EQ(detail::quota_of("100000 100000"), 1U);
    EXPECT_EQ(detail::quota_of("100001 100000"), 2U);
    EXPECT_EQ(detail::quota_of("250000 100000"), 3U);
}

TEST(cpu, at_least_one_and_pinning_works_for_any_index) {
    EXPECT_GE(usable_cpus(), 1U);
    std::thread([] {
        for (std::size_t i = 0; i < 70; ++i) {
            EXPECT_TRUE(pin_thread(i));
        }
    }).join();
}

}  // namespace
}  // namespace pillion::base
