// PILLION_TRY and PILLION_CO_TRY: the value goes on, the error goes up.
#include "coro/try.hpp"

#include <memory>

#include <gtest/gtest.h>

#include <pillion/result.hpp>
#include <pillion/task.hpp>

#include "coro/ready_queue.hpp"
#include "coro/scope.hpp"
#include "coro/sync.hpp"

namespace pillion::coro {
namespace {

result<std::unique_ptr<int>> half(int x) {
    if (x % 2 != 0) {
        return error(errc::invalid, "odd");
    }
    return std::make_unique<int>(x / 2);
}

result<int> quarter(int x) {
    PILLION_TRY(once, half(x));
    PILLION_TRY(twice, half(*once));
    return *twice;
}

TEST(try_macro, hands_on_values_and_errors) {
    EXPECT_EQ(*quarter(12), 3);
    EXPECT_STREQ(quarter(6).error().detail, "odd");
    EXPECT_EQ(quarter(5).error().kind, errc::invalid);
}

task<result<std::unique_ptr<int>>> half_later(int x) {
    co_await yield();
    co_return half(x);
}

task<result<int>> quarter_later(int x) {
    PILLION_CO_TRY(once, co_await half_later(x));
    PILLION_CO_TRY(twice, co_await half_later(*once));
    co_return *twice;
}

task<void> collect(int x, int& value, bool& failed) {
    const result<int> quarter = co_await quarter_later(x);
    failed = !quarter.ok();
    value = failed ? 0 : *quarter;
}

TEST(try_macro, works_in_coroutines) {
    for (const int x : {12, 6, 5}) {
        int value = -1;
        bool failed = false;
        scope nursery;
        nursery.spawn(collect(x, value, failed));
        ready_queue::current().run_all();
        EXPECT_EQ(failed, x != 12);
        EXPECT_EQ(value, x == 12 ? 3 : 0);
    }
}

}  // namespace
}  // namespace pillion::coro
