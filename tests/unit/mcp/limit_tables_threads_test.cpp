// Budgets that several threads draw on at once: no token and no place is given twice.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "mcp/limit_tables.hpp"

namespace pillion::mcp {
namespace {

constexpr std::size_t threads = 4;

template <class Work>
void together(Work work) {
    std::atomic<std::size_t> ready{0};
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < threads; ++i) {
        all.emplace_back([&, i] {
            ++ready;
            while (ready.load() < threads) {
            }
            work(i);
        });
    }
    for (std::thread& one : all) {
        one.join();
    }
}

TEST(limits_threads, a_bucket_gives_each_token_once) {
    bucket_table table(8);
    const bucket_rate rate = bucket_rate::of(1, 1000);
    ASSERT_EQ(table.take(5, rate, 0), 0);  // known from here on
    std::atomic<std::size_t> given{1};
    together([&](std::size_t) {
        for (int i = 0; i < 1000; ++i) {
            given += table.take(5, rate, 0) == 0 ? 1U : 0U;
        }
    });
    EXPECT_EQ(given.load(), 1000U);
}

TEST(limits_threads, a_count_never_passes_its_limit_and_returns_to_zero) {
    count_table table(8);
    constexpr std::uint64_t key = std::uint64_t{77} << 24;
    constexpr std::size_t most = 3;
    count_table::hold first;
    ASSERT_TRUE(table.add(key, most, first));
    std::atomic<std::size_t> inside{1};
    std::atomic<bool> passed{false};
    together([&](std::size_t) {
        for (int i = 0; i < 2000; ++i) {
            count_table::hold mine;
            if (table.add(key, most, mine)) {
                if (inside.fetch_add(1) + 1 > most) {
                    passed = true;
                }
                inside.fetch_sub(1);
            }
        }
    });
    EXPECT_FALSE(passed.load());
    EXPECT_EQ(table.count(key), 1U);
    first.release();
    EXPECT_EQ(table.count(key), 0U);
}

// Many keys in few sets, inserted and removed by all threads.
TEST(limits_threads, places_that_change_hands_are_never_lost) {
    count_table table(16);
    together([&](std::size_t self) {
        for (std::uint64_t i = 0; i < 4000; ++i) {
            count_table::hold mine;
            EXPECT_TRUE(table.add((i * threads + self + 1) << 24 | (i & 1U), 1, mine));
        }
    });
    for (std::uint64_t set = 0; set < 2; ++set) {
        std::vector<count_table::hold> all(8);
        for (std::uint64_t i = 0; i < 8; ++i) {
            ASSERT_TRUE(table.add((i + 1'000'000) << 24 | set, 1, all[i]));
            EXPECT_TRUE(all[i].held());
        }
    }
}

}  // namespace
}  // namespace pillion::mcp
