// task: results of every kind, laziness, ownership of the frame, and flat stacks.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <pillion/task.hpp>

#include "coro/frame_pool.hpp"
#include "coro/ready_queue.hpp"
#include "coro/scope.hpp"
#include "coro/sync.hpp"

namespace pillion::coro {
namespace {

// Runs `body` to its end on this thread and checks that no frame is left behind.
void run(task<void> body) {
    scope nursery;
    nursery.spawn(std::move(body));
    ready_queue::current().run_all();
    ASSERT_EQ(nursery.running(), 0U);
    EXPECT_EQ(frame_pool::live(), 0U);
}

struct no_default {
    explicit no_default(int v) noexcept : value(v) {}
    no_default(no_default&&) noexcept = default;
    int value;
};

task<int> give(int value) { co_return value; }
task<std::unique_ptr<int>> give_owned(int value) { co_return std::make_unique<int>(value); }
task<no_default> give_no_default(int value) { co_return no_default(value); }
task<std::string> give_converted() { co_return "converted"; }
task<void> set_true(bool& flag) {
    flag = true;
    co_return;
}

task<void> collect_all(int& sum, std::string& text) {
    sum += co_await give(1);
    const std::unique_ptr<int> owned = co_await give_owned(10);
    sum += *owned;
    const no_default rare = co_await give_no_default(100);
    sum += rare.value;
    text = co_await give_converted();
    bool flag = false;
    co_await set_true(flag);
    sum += flag ? 1000 : 0;
}

TEST(task, gives_results_of_every_kind) {
    int sum = 0;
    std::string text;
    run(collect_all(sum, text));
    EXPECT_EQ(sum, 1111);
    EXPECT_EQ(text, "converted");
}

TEST(task, does_nothing_before_it_is_awaited_and_dies_with_its_object) {
    bool ran = false;
    {
        task<void> never = set_true(ran);
        EXPECT_TRUE(static_cast<bool>(never));
        EXPECT_EQ(frame_pool::live(), 1U);
        task<void> moved = std::move(never);
        EXPECT_FALSE(static_cast<bool>(never));  // NOLINT(bugprone-use-after-move)
        moved = task<void>();
        EXPECT_EQ(frame_pool::live(), 0U);
    }
    EXPECT_FALSE(ran);
}

struct counted {
    explicit counted(int& n) noexcept : alive(&n) { ++*alive; }
    counted(counted&& other) noexcept : alive(other.alive) { ++*alive; }
    ~counted() { --*alive; }
    int* alive;
};

task<int> take_by_value(counted parameter) { co_return *parameter.alive; }

TEST(task, destroys_parameters_of_a_task_never_started) {
    int alive = 0;
    {
        const task<int> never = take_by_value(counted(alive));
        EXPECT_EQ(alive, 1);
    }
    EXPECT_EQ(alive, 0);
}

task<counted> give_counted(int& alive) { co_return counted(alive); }
task<void> drop_counted(int& alive, int& seen) {
    static_cast<void>(co_await give_counted(alive));
    seen = alive;
}

TEST(task, destroys_a_result_nobody_keeps) {
    int alive = 0;
    int seen = -1;
    run(drop_counted(alive, seen));
    EXPECT_EQ(seen, 0);
    EXPECT_EQ(alive, 0);
}

task<int> throw_after(bool suspend) {
    if (suspend) {
        co_await yield();
    }
    throw std::runtime_error("on purpose");
}
task<void> throw_void() {
    co_await yield();
    throw std::runtime_error("on purpose");
}
task<int> pass_through(bool suspend) {
    const int value = co_await throw_after(suspend);
    co_return value;
}
task<void> catch_all_of_them(int& caught) {
    for (const bool suspend : {false, true}) {
        try {
            static_cast<void>(co_await pass_through(suspend));
        } catch (const std::runtime_error&) {
            ++caught;
        }
    }
    try {
        co_await throw_void();
    } catch (const std::runtime_error&) {
        ++caught;
    }
}

TEST(task, throws_the_exception_of_the_body_where_it_is_awaited) {
    int caught = 0;
    run(catch_all_of_them(caught));
    EXPECT_EQ(caught, 3);
}

// Returning a value and then throwing from a local's destructor must not leak the value.
struct throws_on_death {
    throws_on_death() = default;
    ~throws_on_death() noexcept(false) { throw std::runtime_error("from a destructor"); }
};
task<counted> value_then_throw(int& alive) {
    [[maybe_unused]] const throws_on_death local;
    co_return counted(alive);
}
task<void> catch_destructor(int& alive, int& caught) {
    try {
        static_cast<void>(co_await value_then_throw(alive));
    } catch (const std::runtime_error&) {
        ++caught;
    }
}

TEST(task, an_exception_after_co_return_replaces_the_value) {
    int alive = 0;
    int caught = 0;
    run(catch_destructor(alive, caught));
    EXPECT_EQ(caught, 1);
    EXPECT_EQ(alive, 0);
}

task<void> await_in_a_loop(int rounds, std::int64_t& sum) {
    for (int i = 0; i < rounds; ++i) {
        sum += co_await give(i);
    }
}

// A recursion of one stack frame per round would need far more than any stack.
TEST(task, a_million_synchronous_completions_keep_the_stack_flat) {
    constexpr int rounds = 1'000'000;
    std::int64_t sum = 0;
    run(await_in_a_loop(rounds, sum));
    EXPECT_EQ(sum, std::int64_t{rounds} * (rounds - 1) / 2);
}

task<int> nested(int depth) {
    if (depth == 0) {
        co_await yield();
        co_return 0;
    }
    const int below = co_await nested(depth - 1);
    co_return below + 1;
}
task<void> nest(int depth, int& reached) { reached = co_await nested(depth); }

// All frames end one after the other when the innermost is resumed.
TEST(task, unwinds_a_deep_chain) {
    constexpr int depth = 2000;
    int reached = 0;
    run(nest(depth, reached));
    EXPECT_EQ(reached, depth);
}

task<void> wait_for(event& gate) { co_await gate.wait(); }

task<void> await_again(task<int>& other, int& value) { value = co_await std::move(other); }

TEST(task_death, destroyed_while_suspended) {
    EXPECT_DEATH(
        {
            event gate;
            scope nursery;
            auto* body = new task<void>(wait_for(gate));
            auto start = [](task<void>& t) -> task<void> { co_await std::move(t); };
            nursery.spawn(start(*body));
            ready_queue::current().run_all();
            delete body;
        },
        "destroyed while it was suspended");
}

TEST(task_death, awaited_twice_or_when_empty) {
    int value = 0;
    EXPECT_DEATH(
        {
            scope nursery;
            task<int> once = give(1);
            nursery.spawn(await_again(once, value));
            ready_queue::current().run_all();
            nursery.spawn(await_again(once, value));
        },
        "awaited twice");
    EXPECT_DEATH(
        {
            scope nursery;
            task<int> empty;
            nursery.spawn(await_again(empty, value));
        },
        "awaited twice");
}

}  // namespace
}  // namespace pillion::coro
