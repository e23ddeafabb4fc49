// The store of tasks under several threads; also run under TSan.
#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "mcp/memory_task_store.hpp"

namespace pillion::mcp {
namespace {

task_record task_of(const std::string& id, std::int64_t ttl_ms) {
    task_record r;
    r.id = id;
    r.session = "s" + id.substr(0, 1);
    r.ttl_ms = ttl_ms;
    return r;
}

TEST(task_store_threads, each_task_ends_exactly_once_whoever_ends_it) {
    memory_task_store store;
    constexpr int tasks = 800;
    constexpr int threads = 6;
    for (int i = 0; i < tasks; ++i) {
        ASSERT_NE(store.insert(task_of(std::to_string(i), 1000)), nullptr);
    }
    std::atomic<int> ended{0};
    std::latch start(threads);
    const auto ender = [&](int which) {
        start.arrive_and_wait();
        const task_status end = which % 2 == 0 ? task_status::cancelled : task_status::completed;
        auto edit = [&](task_record& t) {
            t.status = end;
            t.outcome.assign(100, static_cast<char>('a' + which));
            return true;
        };
        for (int i = 0; i < tasks; ++i) {
            const std::string id = std::to_string((i * 7 + which * 131) % tasks);
            const auto done = store.change(id, 500, edit);
            ASSERT_NE(done.now, nullptr);
            EXPECT_TRUE(is_terminal(done.now->status));
            ended += done.changed ? 1 : 0;
            // A record that somebody holds stays whole while others change the task.
            const task_ref held = store.find(id, 500);
            EXPECT_EQ(held->outcome, std::string(100, held->outcome[0]));
        }
    };
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) {
        all.emplace_back(ender, i);
    }
    for (std::thread& one : all) {
        one.join();
    }
    EXPECT_EQ(ended, tasks);
}

TEST(task_store_threads, what_expires_is_counted_once) {
    memory_task_store::caps most;
    most.tasks = 200;
    memory_task_store store(most);
    std::atomic<std::size_t> made{0};
    std::atomic<std::size_t> gone{0};
    std::latch start(4);
    const auto maker = [&](int which) {
        start.arrive_and_wait();
        for (int i = 0; i < 3000; ++i) {
            made += store.insert(task_of(std::to_string(which * 10'000 + i), i % 3)) ? 1 : 0;
        }
    };
    const auto expirer = [&] {
        start.arrive_and_wait();
        for (int i = 0; i < 2000; ++i) {
            gone += store.expire(1);
            EXPECT_LE(store.size(), 200U);
            store.list("s1", 0, 10, 1);
        }
    };
    std::thread all[] = {std::thread(maker, 1), std::thread(maker, 2), std::thread(expirer),
                         std::thread(expirer)};
    for (std::thread& one : all) {
        one.join();
    }
    gone += store.expire(1'000'000);
    EXPECT_EQ(gone, made);
    EXPECT_EQ(store.size(), 0U);
    EXPECT_EQ(store.bytes(), 0U);
}

}  // namespace
}  // namespace pillion::mcp
