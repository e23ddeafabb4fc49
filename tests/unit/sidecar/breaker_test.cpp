// breaker, retry_budget: as tables, with time that is given.
#include "sidecar/breaker.hpp"

#include <gtest/gtest.h>

namespace pillion::sidecar {
namespace {

using outcome = breaker::outcome;

TEST(breaker, opens_after_failures_in_a_row_and_lets_one_try) {
    breaker b(3, 1000);
    const auto fail = [&b](std::int64_t now) { b.tell(b.ask(true, now), outcome::bad, now); };
    for (int i = 0; i < 10; ++i) {
        fail(0);
        fail(0);
        EXPECT_TRUE(b.ask(true, 0).given);
        b.tell(b.ask(true, 0), outcome::good, 0);
    }
    for (int i = 0; i < 3; ++i) {
        fail(10);
    }
    EXPECT_FALSE(b.ask(true, 10).given);
    EXPECT_FALSE(b.ask(true, 1009).given);
    EXPECT_EQ(b.closed_for_ms(110), 900);
    breaker::permit probe = b.ask(true, 1010);
    EXPECT_TRUE(probe.given && probe.probe);
    EXPECT_FALSE(b.ask(true, 1010).given);  // one at a time
    b.tell(probe, outcome::bad, 1020);
    EXPECT_FALSE(b.ask(true, 2019).given);
    probe = b.ask(true, 2020);
    EXPECT_TRUE(probe.given);
    b.tell(probe, outcome::unknown, 2020);  // nobody knows: the next one
    probe = b.ask(true, 2020);
    EXPECT_TRUE(probe.given);
    b.tell(probe, outcome::good, 2020);
    EXPECT_TRUE(b.ask(true, 2020).given && b.ask(false, 2020).given);
    EXPECT_EQ(b.closed_for_ms(2020), 0);
}

// Requests from before it opened say nothing, and do not free the place of the one that tries.
TEST(breaker, latecomers_count_for_nothing) {
    breaker b(1, 1000);
    const breaker::permit early = b.ask(true, 0);
    const breaker::permit other = b.ask(true, 0);
    b.tell(b.ask(true, 0), outcome::bad, 0);
    b.tell(early, outcome::good, 1);
    EXPECT_FALSE(b.ask(true, 1).given);
    const breaker::permit probe = b.ask(true, 1000);
    EXPECT_TRUE(probe.given);
    b.tell(other, outcome::unknown, 1000);
    EXPECT_FALSE(b.ask(true, 1000).given);
    b.tell(probe, outcome::good, 1001);
    b.tell(other, outcome::bad, 1002);
    EXPECT_TRUE(b.ask(true, 1002).given);
}

TEST(breaker, what_changes_something_tries_last) {
    breaker b(1, 1000);
    b.tell(b.ask(false, 0), outcome::bad, 0);
    EXPECT_FALSE(b.ask(false, 1000).given);
    EXPECT_FALSE(b.ask(false, 1999).given);
    EXPECT_TRUE(b.ask(false, 2000).probe);
}

TEST(breaker, never_opens_where_it_may_not) {
    breaker b(0, 1000);
    for (int i = 0; i < 100; ++i) {
        b.tell(b.ask(true, 0), outcome::bad, 0);
    }
    EXPECT_TRUE(b.ask(true, 0).given);
}

TEST(retry_budget, a_tenth_of_what_is_asked) {
    retry_budget r;
    int spent = 0;
    while (r.spend()) {
        ++spent;
    }
    EXPECT_EQ(spent, 10);  // of the beginning
    for (int i = 0; i < 100; ++i) {
        r.asked();
    }
    for (spent = 0; r.spend(); ++spent) {
    }
    EXPECT_EQ(spent, 10);
    for (int i = 0; i < 100'000; ++i) {
        r.asked();
    }
    for (spent = 0; r.spend(); ++spent) {
    }
    EXPECT_EQ(spent, 10);  // it is not saved up
}

}  // namespace
}  // namespace pillion::sidecar
