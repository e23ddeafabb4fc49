#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "io/listener.hpp"
#include "sim/sim_world.hpp"

namespace pillion::sim {
namespace {

struct sink final : io::connection_sink {
    std::vector<int> got;
    std::size_t cap = 1000;
    int closed = 0;
    void on_connection(int fd) noexcept override { got.push_back(fd); }
    bool wants_connection() noexcept override { return got.size() < cap; }
    void on_listener_closed() noexcept override { ++closed; }
};

TEST(listener_sim, hands_over_refuses_at_the_cap_and_closes_once) {
    for (const bool loses : {false, true}) {
        sim_options o;
        o.cancel_loses = loses;
        sim_world world(o);
        const int fd = world.net().listen();
        sink s;
        s.cap = 3;
        io::listener l(world.loop(), fd, s);
        l.start();
        for (int i = 0; i < 5; ++i) {
            world.net().connect(fd);
        }
        world.run();
        EXPECT_EQ(l.accepted(), 3U);
        EXPECT_EQ(l.refused(), 2U);
        world.net().connect(fd);
        l.close(10);
        l.close(10);
        world.run();
        EXPECT_EQ(s.closed, 1);
        for (const int c : s.got) {
            world.net().close(c);
        }
    }
}

TEST(listener_sim, rests_when_descriptors_run_out) {
    sim_world world;
    const int fd = world.net().listen();
    sink s;
    io::listener l(world.loop(), fd, s);
    world.net().fail_accepts(EMFILE, 3);
    l.start();
    world.net().connect(fd);
    const std::int64_t before = world.net().now_ns();
    world.run();
    EXPECT_EQ(l.failed(), 3U);
    EXPECT_EQ(l.accepted(), 1U);
    EXPECT_GE(world.net().now_ns() - before, 300'000'000);
    // Closing while it rests.
    world.net().fail_accepts(ENFILE, 1);
    world.net().connect(fd);
    world.loop().run_one(0);
    l.close(10);
    world.run();
    EXPECT_EQ(s.closed, 1);
}

// A handshake that took more than 10 ms met a closed listener, though others came all the time.
TEST(listener_sim, is_busy_for_a_while_after_somebody_came) {
    sim_world world;
    const int fd = world.net().listen();
    sink s;
    io::listener l(world.loop(), fd, s);
    l.start();
    world.run();
    EXPECT_FALSE(l.busy());
    world.net().connect(fd);
    world.run();
    EXPECT_TRUE(l.busy());
    world.net().advance((limits::listener_busy_ms - 1) * base::ns_per_ms);
    world.loop().run_one(0);
    EXPECT_TRUE(l.busy());
    world.net().advance(base::ns_per_ms);
    world.loop().run_one(0);
    EXPECT_FALSE(l.busy());
    l.close(10);
    world.run();
    for (const int c : s.got) {
        world.net().close(c);
    }
}

// 2000 who came at once kept a call waiting for 33 ms.
TEST(listener_sim, many_at_once_come_in_portions_and_in_order) {
    for (const bool loses : {false, true}) {
        sim_options o;
        o.cancel_loses = loses;
        sim_world world(o);
        const int fd = world.net().listen();
        sink s;
        s.cap = 10'000;
        io::listener l(world.loop(), fd, s);
        l.start();
        std::vector<int> wanted;
        // More than may wait: accepting pauses, and goes on.
        for (int i = 0; i < 3000; ++i) {
            wanted.push_back(world.net().connect(fd).fd());
        }
        for (std::size_t before = 0; s.got.size() < wanted.size(); before = s.got.size()) {
            world.loop().run_one(0);
            ASSERT_LE(s.got.size(), before + 64);
            ASSERT_GT(s.got.size(), before);
        }
        world.run();
        wanted.push_back(world.net().connect(fd).fd());
        world.run();
        EXPECT_EQ(s.got, wanted);
        EXPECT_EQ(l.refused(), 0U);
        l.close(10);
        world.run();
        EXPECT_EQ(s.closed, 1);
        for (const int c : s.got) {
            world.net().close(c);
        }
        EXPECT_EQ(world.leftovers(), "");
    }
}

TEST(listener_sim, who_waits_when_it_closes_is_handed_over) {
    for (const int turns : {1, 2, 3}) {
        for (const std::int64_t last_ms : {0, 10}) {
            sim_world world;
            const int fd = world.net().listen();
            sink s;
            io::listener l(world.loop(), fd, s);
            l.start();
            for (int i = 0; i < 300; ++i) {
                world.net().connect(fd);
            }
            for (int i = 0; i < turns; ++i) {
                world.loop().run_one(0);
            }
            EXPECT_LT(s.got.size(), 300U);
            l.close(last_ms);
            world.run();
            EXPECT_EQ(s.got.size(), 300U);
            EXPECT_EQ(s.closed, 1);
            for (const int c : s.got) {
                world.net().close(c);
            }
        }
    }
}

// Whoever was connected when the server was told to stop was reset.
TEST(listener_sim, who_connects_while_it_closes_is_handed_over) {
    for (const bool loses : {false, true}) {
        sim_options o;
        o.cancel_loses = loses;
        sim_world world(o);
        const int fd = world.net().listen();
        sink s;
        io::listener l(world.loop(), fd, s);
        l.start();
        world.net().connect(fd);
        l.close(10);
        world.net().at(3'000'000, [&] { world.net().connect(fd); });
        world.net().at(9'000'000, [&] { world.net().connect(fd); });
        world.run();
        EXPECT_EQ(s.got.size(), 3U);
        EXPECT_EQ(s.closed, 1);
        for (const int c : s.got) {
            world.net().close(c);
        }
    }
}

// A thread that was held up before it closed its listener waited no more for handshakes.
TEST(listener_sim, waits_from_where_a_held_up_thread_went_on) {
    sim_world world;
    const int fd = world.net().listen();
    sink s;
    io::listener l(world.loop(), fd, s);
    l.start();
    world.run();
    world.net().advance(50 * base::ns_per_ms);
    l.close(10);
    world.net().at(9'000'000, [&] { world.net().connect(fd); });
    world.run();
    EXPECT_EQ(s.got.size(), 1U);
    EXPECT_EQ(s.closed, 1);
    for (const int c : s.got) {
        world.net().close(c);
    }
}

TEST(listener_sim, aborted_connections_do_not_delay_others) {
    sim_world world;
    const int fd = world.net().listen();
    sink s;
    io::listener l(world.loop(), fd, s);
    world.net().fail_accepts(ECONNABORTED, 2);
    l.start();
    world.net().connect(fd);
    const std::int64_t before = world.net().now_ns();
    world.run();
    EXPECT_EQ(l.accepted(), 1U);
    EXPECT_EQ(world.net().now_ns(), before);
    l.close(10);
    world.run();
    EXPECT_EQ(s.closed, 1);
}

}  // namespace
}  // namespace pillion::sim
