// One session's event log under several threads; also run under TSan.
#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "mcp/event_log.hpp"

namespace pillion::mcp {
namespace {

TEST(event_log_threads, a_follower_misses_nothing_that_is_not_told_as_a_gap) {
    constexpr std::uint64_t events = 5000;
    event_log log;
    const std::uint32_t stream = log.open(false, 0);
    std::atomic<std::size_t> disturbed{0};
    std::atomic<bool> over{false};
    std::latch start(4);
    std::thread writer([&] {
        start.arrive_and_wait();
        // On a busy machine all was over before the others had begun.
        while (disturbed == 0) {
            std::this_thread::yield();
        }
        for (std::uint64_t i = 1; i <= events; ++i) {
            EXPECT_EQ(log.append(stream, std::to_string(i), static_cast<std::int64_t>(i)), i);
        }
    });
    std::thread reader([&] {
        start.arrive_and_wait();
        const std::uint64_t token = log.follow(stream, 1);
        std::uint64_t at = 0;
        std::uint64_t gaps = 0;
        std::uint64_t heard = 0;
        while (true) {
            event_log::replay out;
            const auto outcome = log.read({stream, at}, out);
            if (outcome == event_log::outcome::unknown) {
                ADD_FAILURE() << "an open stream was forgotten";
                break;
            }
            if (outcome == event_log::outcome::gap) {
                ++gaps;
                ++at;
                continue;
            }
            for (const kept_event& e : out.events) {
                EXPECT_EQ(e.sequence, ++at);
                EXPECT_EQ(e.text, std::to_string(at));
                ++heard;
            }
            // The stream stays open meanwhile: a finished one may be forgotten for newer ones.
            if (at == events) {
                break;
            }
        }
        EXPECT_EQ(at, events);
        EXPECT_EQ(heard + gaps, events);
        EXPECT_TRUE(log.is_follower(stream, token));
        EXPECT_EQ(log.follower(stream), 1U);
        over = true;
    });
    // Other calls of the session come and go.
    std::thread others([&] {
        start.arrive_and_wait();
        std::int64_t now = 0;
        while (!over) {
            const std::uint32_t s = log.open(false, ++now);
            log.append(s, "x", now);
            log.finish(s);
            ++disturbed;
        }
    });
    // Clients return to another stream, time passes.
    std::thread followers([&] {
        start.arrive_and_wait();
        const std::uint32_t s = log.open(true, 0);
        while (!over) {
            const std::uint64_t token = log.follow(s, 2);
            EXPECT_TRUE(log.is_follower(s, token));
            EXPECT_EQ(log.follower(s), 2U);
            log.append(s, "y", static_cast<std::int64_t>(events));
            log.trim(1000);
        }
    });
    writer.join();
    reader.join();
    log.finish(stream);
    others.join();
    followers.join();
    EXPECT_GT(disturbed.load(), 0U);
}

TEST(event_log_threads, tokens_and_numbers_are_given_once) {
    constexpr std::size_t rounds = 2000;
    event_log log;
    const std::uint32_t shared = log.open(false, 0);
    std::vector<std::uint64_t> tokens[4];
    std::vector<std::uint64_t> sequences[4];
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i < rounds; ++i) {
                tokens[t].push_back(log.follow(shared, t));
                sequences[t].push_back(log.append(shared, "x", 0));
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    std::vector<bool> seen(4 * rounds + 1);
    std::uint64_t newest = 0;
    for (std::size_t t = 0; t < 4; ++t) {
        EXPECT_TRUE(std::is_sorted(tokens[t].begin(), tokens[t].end()));
        newest = std::max(newest, tokens[t].back());
        for (const std::uint64_t sequence : sequences[t]) {
            ASSERT_LE(sequence, 4 * rounds);
            EXPECT_FALSE(seen[sequence]);
            seen[sequence] = true;
        }
    }
    EXPECT_TRUE(log.is_follower(shared, newest));
}

}  // namespace
}  // namespace pillion::mcp
