#include "io/timer_wheel.hpp"

#include <map>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::io {
namespace {

constexpr std::int64_t ms = 1'000'000;

// A wheel beside the obvious model: a list of due times.
struct modelled_wheel {
    struct node {
        modelled_wheel* home;
        std::int64_t due_ms = -1;
        int fired = 0;
        timer t{&node::fire, this};
        explicit node(modelled_wheel& h) : home(&h) {}
        static void fire(timer&, void* self) noexcept {
            auto& me = *static_cast<node*>(self);
            EXPECT_LE(me.due_ms, me.home->target_ms) << "early";
            EXPECT_GE(me.due_ms, me.home->last_due_ms) << "out of order";
            me.home->last_due_ms = me.due_ms;
            me.due_ms = -1;
            ++me.fired;
        }
    };

    std::int64_t now_ms;
    std::int64_t target_ms = 0;
    std::int64_t last_due_ms = 0;
    timer_wheel wheel;
    std::vector<std::unique_ptr<node>> nodes;

    explicit modelled_wheel(std::int64_t start_ms) : now_ms(start_ms), wheel(start_ms * ms) {}

    node& arm(std::int64_t due_ms) {
        nodes.push_back(std::make_unique<node>(*this));
        rearm(*nodes.back(), due_ms);
        return *nodes.back();
    }
    void rearm(node& n, std::int64_t due_ms) {
        n.due_ms = std::max(due_ms, now_ms + 1);
        wheel.arm(n.t, due_ms * ms);
    }
    void advance(std::int64_t to_ms) {
        target_ms = to_ms;
        last_due_ms = 0;
        std::int64_t first = INT64_MAX;
        std::size_t due = 0;
        for (const auto& n : nodes) {
            if (n->due_ms >= 0) {
                first = std::min(first, n->due_ms);
                due += n->due_ms <= to_ms ? 1 : 0;
            }
        }
        const std::int64_t next = wheel.next_due_ns();
        if (first == INT64_MAX) {
            EXPECT_EQ(next, INT64_MAX);
        } else {
            EXPECT_LE(next, first * ms);
            EXPECT_GT(next, now_ms * ms);
        }
        EXPECT_EQ(wheel.advance(to_ms * ms), due);
        now_ms = to_ms;
        for (const auto& n : nodes) {
            EXPECT_TRUE(n->due_ms < 0 || n->due_ms > to_ms) << "missed";
            EXPECT_EQ(n->t.armed(), n->due_ms >= 0);
        }
    }
};

TEST(timer_wheel, every_delay_from_every_phase_of_the_first_levels) {
    for (const std::int64_t start : {0, 1, 62, 63, 64, 65, 4094, 4095, 4096, 262143}) {
        modelled_wheel w(start);
        for (std::int64_t delay = 0; delay <= 300; ++delay) {
            w.arm(start + delay);
        }
        for (std::int64_t now = start; now <= start + 310; ++now) {
            w.advance(now);
        }
    }
}

TEST(timer_wheel, borders_of_all_levels_stepped_and_jumped) {
    for (const std::int64_t start : {std::int64_t{0}, std::int64_t{63}, (std::int64_t{1} << 30) - 1,
                                     (std::int64_t{1} << 36) - 2, std::int64_t{987654321}}) {
        modelled_wheel w(start);
        for (unsigned level = 0; level <= 7; ++level) {
            for (const std::int64_t off : {-1, 0, 1}) {
                w.arm(start + (std::int64_t{1} << (6 * level)) + off);
                w.arm((((start >> (6 * level)) + 1) << (6 * level)) + off);
            }
        }
        // From event to event, as the reactor does.
        for (int i = 0; i < 10000 && w.wheel.armed() > 0; ++i) {
            w.advance(w.wheel.next_due_ns() / ms);
        }
        EXPECT_EQ(w.wheel.armed(), 0U);
    }
}

TEST(timer_wheel, random_work_against_the_model) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        std::mt19937_64 random(seed);
        modelled_wheel w(static_cast<std::int64_t>(random() % (std::uint64_t{1} << 37)));
        for (int step = 0; step < 400; ++step) {
            const auto far =
                static_cast<std::int64_t>(random() % (std::uint64_t{1} << (random() % 38)));
            switch (random() % 4) {
                case 0:
                    w.arm(w.now_ms + far);
                    break;
                case 1:
                    if (!w.nodes.empty()) {
                        auto& n = *w.nodes[random() % w.nodes.size()];
                        n.t.cancel();
                        n.due_ms = -1;
                    }
                    break;
                case 2:
                    if (!w.nodes.empty()) {
                        w.rearm(*w.nodes[random() % w.nodes.size()], w.now_ms + far);
                    }
                    break;
                default:
                    w.advance(w.now_ms + far);
                    break;
            }
        }
        for (const auto& n : w.nodes) {
            n->t.cancel();
        }
        EXPECT_EQ(w.wheel.armed(), 0U);
    }
}

TEST(timer_wheel, handlers_may_rearm_cancel_and_destroy) {
    struct scene {
        timer_wheel wheel{0};
        int fired = 0;
        std::unique_ptr<timer> victim;
        std::unique_ptr<timer> self;
        std::unique_ptr<timer> again;
    } s;
    s.victim = std::make_unique<timer>([](timer&, void*) noexcept { FAIL(); }, &s);
    s.self = std::make_unique<timer>(
        [](timer&, void* p) noexcept {
            auto& sc = *static_cast<scene*>(p);
            ++sc.fired;
            sc.victim.reset();
            sc.self.reset();
        },
        &s);
    s.again = std::make_unique<timer>(
        [](timer& t, void* p) noexcept {
            auto& sc = *static_cast<scene*>(p);
            ++sc.fired;
            sc.wheel.arm(t, 0);  // overdue: next tick, not now
        },
        &s);
    s.wheel.arm(*s.victim, 10 * ms);
    s.wheel.arm(*s.self, 10 * ms);
    s.wheel.arm(*s.again, 10 * ms);
    s.wheel.advance(10 * ms);
    EXPECT_EQ(s.fired, 2);
    s.wheel.advance(13 * ms);
    EXPECT_EQ(s.fired, 5);
    s.again.reset();
}

TEST(timer_wheel, never_early_between_ticks) {
    timer_wheel wheel(0);
    int fired = 0;
    timer t([](timer&, void* n) noexcept { ++*static_cast<int*>(n); }, &fired);
    wheel.arm(t, 5 * ms + 1);
    wheel.advance(5 * ms + 999'999);
    EXPECT_EQ(fired, 0);
    wheel.advance(6 * ms);
    EXPECT_EQ(fired, 1);
}

}  // namespace
}  // namespace pillion::io
