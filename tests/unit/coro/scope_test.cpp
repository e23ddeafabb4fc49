// scope: eager start, counting, join, frames freed, escaped exceptions. And invoke().
#include "coro/scope.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coro/frame_pool.hpp"
#include "coro/invoke.hpp"
#include "coro/sync.hpp"

namespace pillion::coro {
namespace {

using ids = std::vector<int>;

task<void> wait_then_log(event& gate, ids& log, int id) {
    log.push_back(id);
    co_await gate.wait();
    log.push_back(-id);
}

task<void> join_then_log(scope& of, ids& log) {
    co_await of.join();
    log.push_back(100);
}

task<void> log_now(ids& log, int id) {
    log.push_back(id);
    co_return;
}

// A task of a scope by itself, as a function and as a member.
spawned wait_by_itself(scope&, event& gate, ids& log, int id) {
    log.push_back(id);
    co_await gate.wait();
    log.push_back(-id);
}

struct waiter {
    ids& log;
    spawned wait(scope&, event& gate) {
        log.push_back(7);
        co_await gate.wait();
        log.push_back(-7);
    }
};

spawned throw_by_itself(scope&, event& gate) {
    co_await gate.wait();
    throw std::runtime_error("by itself");
}

class scope_test : public testing::Test {
 protected:
    void TearDown() override {
        EXPECT_TRUE(ready_queue::current().empty());
        EXPECT_EQ(frame_pool::live(), 0U);
    }
    static void drain() { ready_queue::current().run_all(); }
};

TEST_F(scope_test, tasks_by_themselves_are_counted_and_waited_for) {
    event gate;
    ids log;
    scope nursery;
    waiter member{log};
    wait_by_itself(nursery, gate, log, 1);
    member.wait(nursery, gate);
    EXPECT_EQ(log, (ids{1, 7}));
    EXPECT_EQ(nursery.running(), 2U);
    EXPECT_EQ(frame_pool::live(), 2U) << "one frame each";
    scope other;
    other.spawn(join_then_log(nursery, log));
    gate.set();
    drain();
    EXPECT_EQ(log, (ids{1, 7, -1, -7, 100}));
    EXPECT_EQ(nursery.running() + other.running(), 0U);
}

TEST_F(scope_test, an_exception_that_leaves_a_task_by_itself_aborts) {
    EXPECT_DEATH(
        {
            event gate;
            scope nursery;
            throw_by_itself(nursery, gate);
            gate.set();
            drain();
        },
        "an exception escaped a spawned task: by itself");
}

TEST_F(scope_test, starts_at_once_and_frees_at_the_end) {
    event gate;
    ids log;
    scope nursery;
    nursery.spawn(wait_then_log(gate, log, 1));
    EXPECT_EQ(log, (ids{1}));
    EXPECT_EQ(nursery.running(), 1U);
    nursery.spawn(wait_then_log(gate, log, 2));
    EXPECT_EQ(nursery.running(), 2U);
    gate.set();
    EXPECT_EQ(log, (ids{1, 2}));
    drain();
    EXPECT_EQ(log, (ids{1, 2, -1, -2}));
    EXPECT_EQ(nursery.running(), 0U);
}

TEST_F(scope_test, join_of_an_empty_scope_does_not_wait) {
    scope outer;
    scope inner;
    ids log;
    outer.spawn(join_then_log(inner, log));
    EXPECT_EQ(log, (ids{100}));
    drain();
}

TEST_F(scope_test, join_waits_for_the_last) {
    scope outer;
    scope inner;
    event first;
    event second;
    ids log;
    inner.spawn(wait_then_log(first, log, 1));
    inner.spawn(wait_then_log(second, log, 2));
    outer.spawn(join_then_log(inner, log));
    second.set();
    drain();
    EXPECT_EQ(log, (ids{1, 2, -2}));
    first.set();
    drain();
    EXPECT_EQ(log, (ids{1, 2, -2, -1, 100}));
}

// The joiner is queued when the last task ends; a task spawned in that gap counts too.
TEST_F(scope_test, join_waits_for_tasks_spawned_after_the_count_was_zero) {
    scope outer;
    scope inner;
    event first;
    event second;
    ids log;
    inner.spawn(wait_then_log(first, log, 1));
    outer.spawn(join_then_log(inner, log));
    first.set();
    for (int turn = 0; turn < 10 && inner.running() > 0; ++turn) {
        ready_queue::current().run_some(1);
    }
    ASSERT_EQ(inner.running(), 0U);
    EXPECT_EQ(log, (ids{1, -1}));
    inner.spawn(wait_then_log(second, log, 2));
    drain();
    EXPECT_EQ(log, (ids{1, -1, 2}));
    second.set();
    drain();
    EXPECT_EQ(log, (ids{1, -1, 2, -2, 100}));
}

task<void> spawn_siblings(scope& into, ids& log, int depth) {
    log.push_back(depth);
    if (depth > 0) {
        into.spawn(spawn_siblings(into, log, depth - 1));
    }
    co_await yield();
    log.push_back(-depth);
}

TEST_F(scope_test, a_task_spawns_siblings) {
    scope nursery;
    ids log;
    nursery.spawn(spawn_siblings(nursery, log, 3));
    EXPECT_EQ(nursery.running(), 4U);
    drain();
    EXPECT_EQ(log, (ids{3, 2, 1, 0, 0, -1, -2, -3}));
}

task<void> nursery_in_a_frame(event& gate, ids& log) {
    scope inner;
    inner.spawn(wait_then_log(gate, log, 1));
    inner.spawn(wait_then_log(gate, log, 2));
    co_await inner.join();
    log.push_back(100);
}

TEST_F(scope_test, lives_in_a_coroutine_frame) {
    scope outer;
    event gate;
    ids log;
    outer.spawn(nursery_in_a_frame(gate, log));
    gate.set();
    drain();
    EXPECT_EQ(log, (ids{1, 2, -1, -2, 100}));
}

TEST_F(scope_test, many_short_tasks) {
    scope nursery;
    ids log;
    for (int i = 0; i < 10'000; ++i) {
        nursery.spawn(log_now(log, i));
        drain();
    }
    EXPECT_EQ(log.size(), 10'000U);
    EXPECT_EQ(nursery.running(), 0U);
}

TEST_F(scope_test, invoke_keeps_the_closure_alive) {
    scope nursery;
    std::string seen;
    {
        auto work = [&seen, text = std::string(100, 'x')]() -> task<void> {
            co_await yield();
            seen = text;
        };
        nursery.spawn(coro::invoke(std::move(work)));
    }
    drain();
    EXPECT_EQ(seen, std::string(100, 'x'));
}

task<void> invoke_with_arguments(int& sum) {
    auto add = [base = std::make_unique<int>(1)](const std::string& text,
                                                 std::unique_ptr<int> more) -> task<int> {
        co_await yield();
        co_return *base + *more + static_cast<int>(text.size());
    };
    auto more = std::make_unique<int>(10);
    std::string text(100, 'x');
    sum = co_await coro::invoke(std::move(add), std::move(text), std::move(more));
}

TEST_F(scope_test, invoke_keeps_arguments_alive_and_returns_the_result) {
    scope nursery;
    int sum = 0;
    nursery.spawn(invoke_with_arguments(sum));
    drain();
    EXPECT_EQ(sum, 111);
}

task<void> throw_it() {
    co_await yield();
    throw std::runtime_error("the reason");
}

TEST(scope_death, an_exception_escapes) {
    EXPECT_DEATH(
        {
            scope nursery;
            nursery.spawn(throw_it());
            ready_queue::current().run_all();
        },
        "exception escaped a spawned task: the reason");
}

TEST(scope_death, destroyed_while_a_task_runs) {
    EXPECT_DEATH(
        {
            event gate;
            ids log;
            scope nursery;
            nursery.spawn(wait_then_log(gate, log, 1));
        },
        "running_ == 0");
}

}  // namespace
}  // namespace pillion::coro
