// Sessions and the broadcast between shards under several threads; also run under TSan.
#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "mcp/session.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp {
namespace {

constexpr std::size_t shards = 4;

session_ref session_of(std::size_t owner) {
    return std::make_shared<session>(session_table::new_id(owner), owner, revision::r2025_03_26,
                                     "{}", "client", "1", 0);
}

TEST(session_threads, each_session_ends_exactly_once_whoever_ends_it) {
    session_table table(shards, 100'000);
    std::vector<session_ref> all;
    for (std::size_t i = 0; i < 4000; ++i) {
        all.push_back(session_of(i % shards));
        ASSERT_TRUE(table.insert(all.back()));
    }
    std::atomic<std::size_t> ended{0};
    std::atomic<std::size_t> seen{0};
    std::latch start(6);
    const auto remover = [&](std::size_t first) {
        start.arrive_and_wait();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const session_ref& s = all[(first + i) % all.size()];
            s->touch(static_cast<std::int64_t>(i));
            if (i % 3 == 0 && table.remove(s->id())) {
                ++ended;
            }
        }
    };
    const auto finder = [&] {
        start.arrive_and_wait();
        for (int round = 0; round < 3; ++round) {
            for (const session_ref& s : all) {
                if (const session_ref found = table.find(s->id())) {
                    seen += found == s ? 1 : 1'000'000;
                    found->hold();
                    found->release(0);
                }
            }
        }
    };
    const auto expirer = [&](std::size_t owner) {
        start.arrive_and_wait();
        for (int round = 0; round < 200; ++round) {
            ended += table.expire(owner, round).size();
        }
    };
    std::vector<std::thread> threads;
    threads.emplace_back(remover, std::size_t{0});
    threads.emplace_back(remover, std::size_t{2000});
    threads.emplace_back(finder);
    threads.emplace_back(finder);
    threads.emplace_back(expirer, std::size_t{0});
    threads.emplace_back(expirer, std::size_t{1});
    for (std::thread& t : threads) {
        t.join();
    }
    EXPECT_LE(seen.load(), 6 * all.size());
    std::size_t dead = 0;
    for (const session_ref& s : all) {
        dead += s->alive() ? 0 : 1;
    }
    EXPECT_EQ(ended.load(), dead);
    EXPECT_EQ(table.size(), all.size() - dead);
}

TEST(session_threads, the_cap_holds_while_many_insert) {
    constexpr std::size_t cap = 500;
    session_table table(shards, cap);
    std::atomic<std::size_t> taken{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < shards; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 400; ++i) {
                taken += table.insert(session_of(t)) ? 1 : 0;
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    EXPECT_EQ(taken.load(), cap);
    EXPECT_EQ(table.size(), cap);
}

TEST(session_threads, streams_and_subscriptions_of_one_session_from_many_threads) {
    const session_ref s = session_of(0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            const std::string uri = "u" + std::to_string(t);
            for (int i = 0; i < 1000; ++i) {
                const std::uint64_t number = s->open_stream(0);
                s->subscribe(uri);
                EXPECT_TRUE(s->subscribed(uri));
                static_cast<void>(s->is_newest_stream(number));
                s->unsubscribe(uri);
                s->close_stream(number);
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    EXPECT_TRUE(s->is_newest_stream(s->open_stream(0)));
}

// A listener that puts down the last it hears, on its own thread.
class last_listener final : public change_listener {
 public:
    ~last_listener() { leave(); }
    void leave() noexcept {
        if (linked()) {
            unlink();
        }
    }
    void on_change(const change_event& event) noexcept override {
        EXPECT_EQ(std::this_thread::get_id(), home);
        EXPECT_EQ(event.uri, event.what == change::resource_updated ? "test://a" : "");
        EXPECT_GT(event.number, last);
        last = event.number;
    }
    void on_session_end(const session*) noexcept override {}
    void on_drain() noexcept override {}
    std::thread::id home = std::this_thread::get_id();
    std::uint64_t last = 0;
};

TEST(session_threads, every_shard_hears_the_last_publication_until_it_leaves) {
    log::set_level(log::level::off);
    constexpr std::size_t publications = 2000;
    server host("threads", "1");
    testing::stage on;
    testing::furnish(host, on);
    sim::inline_offload helpers;
    service shared(testing::frozen(host), host, helpers, 2, service_options());
    shared.subscriptions().add("test://a");
    std::latch ready(3);
    std::latch half(3);
    std::atomic<std::uint64_t> heard[2] = {};
    std::atomic<bool> over{false};
    const auto run = [&](std::size_t shard) {
        sim::sim_world net;
        auto e = std::make_unique<engine>(shared, net.loop(), shard);
        last_listener listener;
        e->changes().add(listener);
        ready.arrive_and_wait();
        while (listener.last < publications) {
            net.loop().run_one(0);
        }
        heard[shard] = listener.last;
        half.arrive_and_wait();
        // One shard leaves while the other threads go on publishing.
        while (shard == 1 && !over) {
            net.loop().run_one(0);
        }
        listener.leave();
        e.reset();
        net.loop().run_one(0);
    };
    std::thread first(run, std::size_t{0});
    std::thread second(run, std::size_t{1});
    ready.arrive_and_wait();
    for (std::size_t i = 0; i < publications; ++i) {
        if (i % 2 == 0) {
            shared.publish(change::resource_updated, "test://a");
        } else {
            shared.publish(change::tools);
        }
    }
    half.arrive_and_wait();
    for (std::size_t i = 0; i < publications; ++i) {
        shared.publish(change::prompts);
    }
    first.join();
    over = true;
    second.join();
    EXPECT_EQ(heard[0].load(), publications);
    EXPECT_EQ(heard[1].load(), publications);
}

}  // namespace
}  // namespace pillion::mcp
