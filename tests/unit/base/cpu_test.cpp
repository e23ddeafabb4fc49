#include "base/cpu.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <algorithm>
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

TEST(cpu, threads_that_compute_step_back_and_threads_that_respond_do_not) {
    std::thread([] {
        ASSERT_EQ(::sched_getscheduler(0), SCHED_OTHER);
        const int before = ::getpriority(PRIO_PROCESS, 0);
        set_thread_kind(thread_kind::respond);
        EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), before);
        EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER);
        set_thread_kind(thread_kind::compute);
        EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), std::max(before, 10));
        set_thread_kind(thread_kind::compute);
        EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), std::max(before, 10));
    }).join();
    // Only the thread itself.
    EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER);
}

}  // namespace
}  // namespace pillion::base
