// stop: order of notification and everything a callback may do to the tree while it is walked.
#include "coro/stop.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::coro {
namespace {

// A callback that appends its number to a log and then does something.
struct probe {
    probe(std::vector<int>& to, int number) : log(&to), id(number) {}
    probe(stop_node& node, std::vector<int>& to, int number, std::function<void()> then = {})
        : log(&to), id(number), act(std::move(then)) {
        on(node);
    }
    void on(stop_node& node) { callback.attach(node, &fire, this); }
    static void fire(void* self) noexcept {
        auto& me = *static_cast<probe*>(self);
        me.log->push_back(me.id);
        // Kept alive while it runs: it may destroy its probe.
        const std::function<void()> act = me.act;
        if (act) {
            act();
        }
    }
    std::vector<int>* log;
    int id;
    std::function<void()> act;
    stop_callback callback;
};

using ids = std::vector<int>;

TEST(stop, runs_callbacks_youngest_first_and_once) {
    ids log;
    stop_node node;
    probe a(node, log, 1);
    probe b(node, log, 2);
    probe c(node, log, 3);
    EXPECT_FALSE(node.requested());
    EXPECT_EQ(node.reason(), stop_reason::none);
    node.request(stop_reason::deadline);
    node.request(stop_reason::shutdown);
    EXPECT_EQ(log, (ids{3, 2, 1}));
    EXPECT_EQ(node.reason(), stop_reason::deadline);
    EXPECT_FALSE(a.callback.attached());
}

TEST(stop, tells_children_depth_first_before_own_callbacks) {
    ids log;
    stop_node server;
    stop_node first(&server);
    stop_node second(&server);
    stop_node grandchild(&first);
    probe a(server, log, 1);
    probe b(first, log, 2);
    probe c(second, log, 3);
    probe d(grandchild, log, 4);
    server.request(stop_reason::shutdown);
    EXPECT_EQ(log, (ids{3, 4, 2, 1}));
    EXPECT_EQ(grandchild.reason(), stop_reason::shutdown);
}

TEST(stop, does_not_go_up_nor_sideways) {
    ids log;
    stop_node server;
    stop_node first(&server);
    stop_node second(&server);
    probe a(server, log, 1);
    probe b(first, log, 2);
    probe c(second, log, 3);
    first.request(stop_reason::client_cancelled);
    EXPECT_EQ(log, (ids{2}));
    EXPECT_FALSE(server.requested());
    EXPECT_FALSE(second.requested());
    server.request(stop_reason::shutdown);
    EXPECT_EQ(log, (ids{2, 3, 1}));
    EXPECT_EQ(first.reason(), stop_reason::client_cancelled);
}

TEST(stop, a_late_child_is_requested_at_birth) {
    stop_node parent;
    parent.request(stop_reason::session_ended);
    stop_node child(&parent);
    EXPECT_EQ(child.reason(), stop_reason::session_ended);
    ids log;
    probe a(child, log, 1);
    EXPECT_EQ(log, (ids{1}));
    EXPECT_FALSE(a.callback.attached());
}

TEST(stop, a_null_parent_makes_a_root) {
    stop_node root(nullptr);
    EXPECT_FALSE(root.requested());
}

TEST(stop, detached_and_destroyed_callbacks_do_not_run) {
    ids log;
    stop_node node;
    probe kept(node, log, 1);
    probe detached(node, log, 2);
    {
        const probe destroyed(node, log, 3);
    }
    detached.callback.detach();
    detached.callback.detach();
    node.request(stop_reason::deadline);
    EXPECT_EQ(log, (ids{1}));
}

TEST(stop, a_callback_can_be_attached_again) {
    ids log;
    stop_node a;
    stop_node b;
    probe p(a, log, 1);
    p.callback.detach();
    p.on(b);
    a.request(stop_reason::deadline);
    EXPECT_TRUE(log.empty());
    b.request(stop_reason::deadline);
    EXPECT_EQ(log, (ids{1}));
}

// Every pair: callback `actor` of three detaches (or destroys) callback `victim`.
TEST(stop, callbacks_remove_siblings_and_themselves) {
    for (const bool destroy : {false, true}) {
        for (int actor = 0; actor < 3; ++actor) {
            for (int victim = 0; victim < 3; ++victim) {
                ids log;
                stop_node node;
                std::unique_ptr<probe> probes[3];
                for (int i = 0; i < 3; ++i) {
                    probes[i] = std::make_unique<probe>(node, log, i);
                }
                probes[actor]->act = [&] {
                    if (destroy) {
                        probes[victim].reset();
                    } else {
                        probes[victim]->callback.detach();
                    }
                };
                node.request(stop_reason::deadline);
                ids expected;
                for (int i = 2; i >= 0; --i) {
                    // A younger one has run already when it is removed.
                    if (i != victim || victim >= actor) {
                        expected.push_back(i);
                    }
                }
                EXPECT_EQ(log, expected) << actor << victim << destroy;
            }
        }
    }
}

TEST(stop, a_callback_destroys_all_the_others) {
    ids log;
    stop_node node;
    auto a = std::make_unique<probe>(node, log, 1);
    auto b = std::make_unique<probe>(node, log, 2);
    probe last(node, log, 3, [&] {
        a.reset();
        b.reset();
    });
    node.request(stop_reason::deadline);
    EXPECT_EQ(log, (ids{3}));
}

TEST(stop, a_callback_attached_by_a_callback_runs_at_once) {
    ids log;
    stop_node node;
    probe old(node, log, 1);
    std::optional<probe> added;
    probe adder(node, log, 2, [&] { added.emplace(node, log, 9); });
    node.request(stop_reason::deadline);
    EXPECT_EQ(log, (ids{2, 9, 1}));
}

TEST(stop, a_callback_makes_a_child_that_is_requested) {
    ids log;
    stop_node node;
    std::unique_ptr<stop_node> child;
    probe maker(node, log, 1, [&] { child = std::make_unique<stop_node>(&node); });
    node.request(stop_reason::shutdown);
    ASSERT_NE(child, nullptr);
    EXPECT_EQ(child->reason(), stop_reason::shutdown);
}

// Children are told youngest first: 2, 1, 0. Each may be destroyed by a callback of another.
TEST(stop, a_callback_of_a_child_destroys_a_sibling) {
    for (int actor = 0; actor < 3; ++actor) {
        for (int victim = 0; victim < 3; ++victim) {
            if (actor == victim) {
                continue;
            }
            ids log;
            stop_node parent;
            std::unique_ptr<stop_node> children[3];
            std::unique_ptr<probe> probes[3];
            for (int i = 0; i < 3; ++i) {
                children[i] = std::make_unique<stop_node>(&parent);
                probes[i] = std::make_unique<probe>(*children[i], log, i);
            }
            probes[actor]->act = [&] {
                probes[victim].reset();
                children[victim].reset();
            };
            parent.request(stop_reason::shutdown);
            ids expected;
            for (int i = 2; i >= 0; --i) {
                if (i != victim || victim > actor) {
                    expected.push_back(i);
                }
            }
            EXPECT_EQ(log, expected) << actor << victim;
        }
    }
}

TEST(stop, a_callback_requests_parent_sibling_and_itself) {
    ids log;
    stop_node parent;
    stop_node first(&parent);
    stop_node second(&parent);
    probe a(parent, log, 1);
    probe b(first, log, 2, [&] {
        first.request(stop_reason::shutdown);
        parent.request(stop_reason::disconnected);
        second.request(stop_reason::shutdown);
    });
    probe c(second, log, 3);
    first.request(stop_reason::client_cancelled);
    EXPECT_EQ(log, (ids{2, 3, 1}));
    EXPECT_EQ(first.reason(), stop_reason::client_cancelled);
    EXPECT_EQ(second.reason(), stop_reason::disconnected);
}

TEST(stop, a_child_that_died_is_not_told) {
    stop_node parent;
    {
        const stop_node child(&parent);
    }
    parent.request(stop_reason::deadline);
    EXPECT_TRUE(parent.requested());
}

TEST(stop, reasons_have_names) {
    EXPECT_STREQ(to_string(stop_reason::none), "none");
    EXPECT_STREQ(to_string(stop_reason::client_cancelled), "client_cancelled");
    EXPECT_STREQ(to_string(stop_reason::deadline), "deadline");
    EXPECT_STREQ(to_string(stop_reason::disconnected), "disconnected");
    EXPECT_STREQ(to_string(stop_reason::shutdown), "shutdown");
    EXPECT_STREQ(to_string(stop_reason::session_ended), "session_ended");
}

TEST(stop_death, a_node_outlives_children_and_callbacks) {
    EXPECT_DEATH(
        {
            auto parent = std::make_unique<stop_node>();
            const stop_node child(parent.get());
            parent.reset();
        },
        "children_.empty");
    ids log;
    EXPECT_DEATH(
        {
            auto node = std::make_unique<stop_node>();
            const probe left(*node, log, 1);
            node.reset();
        },
        "callbacks_.empty");
}

TEST(stop_death, a_node_destroyed_by_its_own_callback) {
    ids log;
    EXPECT_DEATH(
        {
            auto node = std::make_unique<stop_node>();
            const probe killer(*node, log, 1, [&] { node.reset(); });
            node->request(stop_reason::deadline);
        },
        "walking_");
}

}  // namespace
}  // namespace pillion::coro
