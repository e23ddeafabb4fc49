// ready_queue: order, batches and their bound.
#include "coro/ready_queue.hpp"

#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::coro {
namespace {

struct recorder : ready_node {
    recorder(ready_queue& q, std::vector<int>& to, int number) noexcept
        : queue(&q), log(&to), id(number) {
        run = [](ready_node& node) noexcept {
            auto& self = static_cast<recorder&>(node);
            self.log->push_back(self.id);
            if (self.again > 0) {
                --self.again;
                self.queue->push(self);
            }
            if (self.follower != nullptr) {
                self.queue->push(*std::exchange(self.follower, nullptr));
            }
        };
    }
    ready_queue* queue;
    std::vector<int>* log;
    int id;
    int again = 0;
    recorder* follower = nullptr;
};

TEST(ready_queue, runs_first_in_first_out) {
    ready_queue queue;
    std::vector<int> log;
    recorder a(queue, log, 1);
    recorder b(queue, log, 2);
    recorder c(queue, log, 3);
    EXPECT_TRUE(queue.empty());
    EXPECT_FALSE(queue.run_some(10));
    queue.push(a);
    queue.push(b);
    queue.push(c);
    EXPECT_FALSE(queue.empty());
    EXPECT_TRUE(queue.run_some(10));
    EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
    EXPECT_TRUE(queue.empty());
}

TEST(ready_queue, what_is_pushed_while_running_waits_for_the_next_batch) {
    ready_queue queue;
    std::vector<int> log;
    recorder a(queue, log, 1);
    recorder b(queue, log, 2);
    recorder late(queue, log, 9);
    a.again = 1;
    b.again = 2;
    a.follower = &late;
    queue.push(a);
    queue.push(b);
    queue.run_some(100);
    EXPECT_EQ(log, (std::vector<int>{1, 2}));
    queue.run_some(100);
    EXPECT_EQ(log, (std::vector<int>{1, 2, 1, 9, 2}));
    queue.run_some(100);
    EXPECT_EQ(log, (std::vector<int>{1, 2, 1, 9, 2, 2}));
    EXPECT_TRUE(queue.empty());
}

// All small cases: every queue length with every bound.
TEST(ready_queue, the_bound_splits_a_batch_anywhere) {
    for (int nodes = 0; nodes <= 6; ++nodes) {
        for (std::size_t max = 0; max <= 7; ++max) {
            ready_queue queue;
            std::vector<int> log;
            std::deque<recorder> all;
            std::vector<int> expected;
            for (int i = 0; i < nodes; ++i) {
                queue.push(all.emplace_back(queue, log, i));
                expected.push_back(i);
            }
            EXPECT_EQ(queue.run_some(max), nodes > 0 && max > 0);
            EXPECT_EQ(log.size(), std::min<std::size_t>(max, static_cast<std::size_t>(nodes)));
            queue.run_all();
            EXPECT_EQ(log, expected);
        }
    }
}

TEST(ready_queue, run_all_counts_batches) {
    ready_queue queue;
    std::vector<int> log;
    recorder a(queue, log, 1);
    a.again = 4;
    queue.push(a);
    EXPECT_EQ(queue.run_all(), 5U);
    EXPECT_EQ(queue.run_all(), 0U);
}

TEST(ready_queue, every_thread_has_its_own) {
    ready_queue* const mine = &ready_queue::current();
    EXPECT_EQ(mine, &ready_queue::current());
    std::thread([mine] { EXPECT_NE(mine, &ready_queue::current()); }).join();
}

TEST(ready_queue_death, a_node_is_queued_once) {
    ready_queue queue;
    std::vector<int> log;
    recorder a(queue, log, 1);
    EXPECT_DEATH(
        {
            queue.push(a);
            queue.push(a);
        },
        "node.next == nullptr");
}

}  // namespace
}  // namespace pillion::coro
