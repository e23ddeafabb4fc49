// sync: event, semaphore and yield; above all what happens when set (or release) and stop meet.
#include "coro/sync.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "coro/frame_pool.hpp"
#include "coro/scope.hpp"

namespace pillion::coro {
namespace {

using ids = std::vector<int>;

class sync_test : public testing::Test {
 protected:
    void TearDown() override {
        EXPECT_EQ(nursery.running(), 0U);
        EXPECT_TRUE(ready_queue::current().empty());
        EXPECT_EQ(frame_pool::live(), 0U);
    }
    static void drain() { ready_queue::current().run_all(); }

    scope nursery;
    ids log;
};

task<void> wait_and_log(event& on, ids& log, int id) {
    co_await on.wait();
    log.push_back(id);
}

// Logs id when set, -id when stopped.
task<void> wait_or_stop(event& on, stop_node* stop, ids& log, int id) {
    const bool set = co_await on.wait(stop);
    log.push_back(set ? id : -id);
}

task<void> acquire_and_log(semaphore& from, ids& log, int id) {
    co_await from.acquire();
    log.push_back(id);
}

task<void> acquire_or_stop(semaphore& from, stop_node* stop, ids& log, int id) {
    const bool got = co_await from.acquire(stop);
    log.push_back(got ? id : -id);
}

TEST_F(sync_test, event_releases_waiters_in_order_through_the_queue) {
    event on;
    for (int id = 1; id <= 3; ++id) {
        nursery.spawn(wait_and_log(on, log, id));
    }
    drain();
    EXPECT_TRUE(log.empty());
    on.set();
    EXPECT_TRUE(log.empty());
    drain();
    EXPECT_EQ(log, (ids{1, 2, 3}));
    on.set();
    drain();
    EXPECT_EQ(log.size(), 3U);
}

TEST_F(sync_test, a_set_event_does_not_suspend) {
    event on(true);
    EXPECT_TRUE(on.is_set());
    nursery.spawn(wait_and_log(on, log, 1));
    nursery.spawn(wait_or_stop(on, nullptr, log, 2));
    EXPECT_EQ(log, (ids{1, 2}));
    drain();
}

TEST_F(sync_test, waiters_released_go_on_after_a_reset) {
    event on;
    nursery.spawn(wait_and_log(on, log, 1));
    on.set();
    on.reset();
    EXPECT_FALSE(on.is_set());
    nursery.spawn(wait_and_log(on, log, 2));
    drain();
    EXPECT_EQ(log, (ids{1}));
    on.set();
    drain();
    EXPECT_EQ(log, (ids{1, 2}));
}

// Whatever comes first wins; the second changes nothing. All orders, all waits in one turn.
TEST_F(sync_test, set_and_stop_in_one_turn_first_wins) {
    for (const bool set_first : {true, false}) {
        for (const bool run_between : {true, false}) {
            log.clear();
            event on;
            stop_node stop;
            nursery.spawn(wait_or_stop(on, &stop, log, 1));
            nursery.spawn(wait_or_stop(on, &stop, log, 2));
            if (set_first) {
                on.set();
            } else {
                stop.request(stop_reason::deadline);
            }
            if (run_between) {
                drain();
            }
            if (set_first) {
                stop.request(stop_reason::deadline);
            } else {
                on.set();
            }
            drain();
            // A stop runs callbacks youngest first.
            EXPECT_EQ(log, set_first ? (ids{1, 2}) : (ids{-2, -1}));
        }
    }
}

TEST_F(sync_test, a_stop_requested_before_the_wait) {
    event on;
    stop_node stop;
    stop.request(stop_reason::shutdown);
    nursery.spawn(wait_or_stop(on, &stop, log, 1));
    EXPECT_EQ(log, (ids{-1}));
    on.set();
    nursery.spawn(wait_or_stop(on, &stop, log, 2));
    EXPECT_EQ(log, (ids{-1, 2}));
    drain();
}

TEST_F(sync_test, stopping_one_waiter_leaves_the_others) {
    for (int stopped = 1; stopped <= 3; ++stopped) {
        log.clear();
        event on;
        stop_node stops[3];
        for (int id = 1; id <= 3; ++id) {
            nursery.spawn(wait_or_stop(on, &stops[id - 1], log, id));
        }
        stops[stopped - 1].request(stop_reason::client_cancelled);
        drain();
        EXPECT_EQ(log, (ids{-stopped}));
        on.set();
        drain();
        ids expected{-stopped};
        for (int id = 1; id <= 3; ++id) {
            if (id != stopped) {
                expected.push_back(id);
            }
        }
        EXPECT_EQ(log, expected);
    }
}

// A stop callback that sets the very event whose waiters the stop is about to wake.
TEST_F(sync_test, a_stop_callback_sets_the_event) {
    for (const bool callback_is_younger : {true, false}) {
        log.clear();
        event on;
        stop_node stop;
        stop_callback setter;
        const auto set = [](void* at) noexcept { static_cast<event*>(at)->set(); };
        if (!callback_is_younger) {
            setter.attach(stop, set, &on);
        }
        nursery.spawn(wait_or_stop(on, &stop, log, 1));
        if (callback_is_younger) {
            setter.attach(stop, set, &on);
        }
        stop.request(stop_reason::deadline);
        drain();
        EXPECT_EQ(log, (callback_is_younger ? ids{1} : ids{-1}));
    }
}

TEST_F(sync_test, the_node_may_die_right_after_the_wait) {
    event on;
    auto stop = std::make_unique<stop_node>();
    nursery.spawn(wait_or_stop(on, stop.get(), log, 1));
    on.set();
    // The waiter is queued, but registered no more.
    stop.reset();
    drain();
    EXPECT_EQ(log, (ids{1}));
}

TEST_F(sync_test, semaphore_hands_permits_over_in_order) {
    semaphore permits(2);
    for (int id = 1; id <= 5; ++id) {
        nursery.spawn(acquire_and_log(permits, log, id));
    }
    drain();
    EXPECT_EQ(log, (ids{1, 2}));
    EXPECT_EQ(permits.available(), 0U);
    permits.release();
    // The permit belongs to the waiter already: nobody can overtake it.
    EXPECT_FALSE(permits.try_acquire());
    drain();
    EXPECT_EQ(log, (ids{1, 2, 3}));
    for (int i = 0; i < 4; ++i) {
        permits.release();
    }
    drain();
    EXPECT_EQ(log, (ids{1, 2, 3, 4, 5}));
    EXPECT_EQ(permits.available(), 2U);
    EXPECT_TRUE(permits.try_acquire());
    permits.release();
}

TEST_F(sync_test, release_and_stop_in_one_turn_first_wins_and_no_permit_is_lost) {
    for (const bool release_first : {true, false}) {
        log.clear();
        semaphore permits(1);
        stop_node stop;
        ASSERT_TRUE(permits.try_acquire());
        nursery.spawn(acquire_or_stop(permits, &stop, log, 1));
        if (release_first) {
            permits.release();
            stop.request(stop_reason::deadline);
        } else {
            stop.request(stop_reason::deadline);
            permits.release();
        }
        drain();
        EXPECT_EQ(log, (ids{release_first ? 1 : -1}));
        EXPECT_EQ(permits.available(), release_first ? 0U : 1U);
    }
}

TEST_F(sync_test, a_stopped_waiter_does_not_swallow_the_permit_of_the_next) {
    semaphore permits(1);
    stop_node stop;
    ASSERT_TRUE(permits.try_acquire());
    nursery.spawn(acquire_or_stop(permits, &stop, log, 1));
    nursery.spawn(acquire_or_stop(permits, nullptr, log, 2));
    stop.request(stop_reason::deadline);
    permits.release();
    drain();
    EXPECT_EQ(log, (ids{-1, 2}));
    // Stopped before it asks: no permit even though one is free.
    permits.release();
    nursery.spawn(acquire_or_stop(permits, &stop, log, 3));
    EXPECT_EQ(log, (ids{-1, 2, -3}));
    EXPECT_EQ(permits.available(), 1U);
    drain();
}

task<void> yield_in_turns(ids& log, int id) {
    for (int i = 0; i < 3; ++i) {
        log.push_back(id);
        co_await yield();
    }
}

TEST_F(sync_test, yield_lets_the_others_run) {
    nursery.spawn(yield_in_turns(log, 1));
    nursery.spawn(yield_in_turns(log, 2));
    drain();
    EXPECT_EQ(log, (ids{1, 2, 1, 2, 1, 2}));
}

task<void> wait_many_times(event& on, int rounds, int& done) {
    for (; done < rounds; ++done) {
        co_await on.wait();
    }
}

TEST_F(sync_test, a_million_ready_waits_keep_the_stack_flat) {
    event on(true);
    int done = 0;
    nursery.spawn(wait_many_times(on, 1'000'000, done));
    drain();
    EXPECT_EQ(done, 1'000'000);
}

TEST(sync_death, an_event_outlives_its_waiters) {
    EXPECT_DEATH(
        {
            scope nursery;
            ids log;
            auto on = std::make_unique<event>();
            nursery.spawn(wait_and_log(*on, log, 1));
            on.reset();
        },
        "empty");
}

TEST(sync_death, a_semaphore_is_bounded) {
    EXPECT_DEATH(
        {
            semaphore permits(1);
            permits.release();
        },
        "free_ < permits_");
}

}  // namespace
}  // namespace pillion::coro
