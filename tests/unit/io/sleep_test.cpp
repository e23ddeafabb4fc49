#include "io/sleep.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "sim/sim_world.hpp"

namespace pillion::io {
namespace {

// The smallest coroutine there is: starts at once, frees itself at its end.
struct detached {
    struct promise_type {
        detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

detached sleeper(reactor& on, std::int64_t due_ns, coro::stop_node* stop,
                 std::optional<bool>& slept) {
    const bool whole = co_await sleep_until(on, due_ns, stop);
    slept = whole;
}

detached worker(offload& pool, reactor& on, std::optional<bool>& good) {
    auto job = [] { return 42; };
    result<int> got = co_await run_blocking(pool, on, std::move(job));
    good = got.ok() && *got == 42;
}

TEST(sleep, the_whole_time_to_the_tick) {
    sim::sim_world world;
    std::optional<bool> slept;
    const std::int64_t due = world.loop().now_ns() + 3'600'000'000'000;
    sleeper(world.loop(), due, nullptr, slept);
    world.run();
    EXPECT_EQ(slept, true);
    EXPECT_GE(world.net().now_ns(), due);
    EXPECT_LT(world.net().now_ns(), due + 2'000'000);
}

TEST(sleep, stopped_before_during_and_in_the_same_turn) {
    for (const std::int64_t stop_ns : {-1, 0, 1'000'000, 4'999'999, 5'000'000, 6'000'000}) {
        sim::sim_world world;
        coro::stop_node stop;
        std::optional<bool> slept;
        if (stop_ns < 0) {
            stop.request(coro::stop_reason::deadline);
        } else {
            world.net().at(stop_ns, [&] { stop.request(coro::stop_reason::deadline); });
        }
        sleeper(world.loop(), world.loop().now_ns() + 5'000'000, &stop, slept);
        world.run();
        ASSERT_TRUE(slept.has_value());
        if (stop_ns < 5'000'000) {
            EXPECT_FALSE(*slept) << stop_ns;
        } else if (stop_ns > 5'000'000) {
            EXPECT_TRUE(*slept);
        }
        EXPECT_EQ(world.leftovers(), "");
    }
}

TEST(run_blocking, gives_the_value_or_says_the_pool_is_full) {
    for (const bool full : {false, true}) {
        sim::sim_world world;
        sim::inline_offload pool;
        pool.full = full;
        std::optional<bool> good;
        worker(pool, world.loop(), good);
        world.run();
        EXPECT_EQ(good, !full);
    }
}

}  // namespace
}  // namespace pillion::io
