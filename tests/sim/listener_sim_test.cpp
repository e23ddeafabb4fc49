#include <vector>

#include <gtest/gtest.h>

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
