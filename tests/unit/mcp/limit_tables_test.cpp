// The tables of budgets: exact for whom they know, bounded for whoever comes.
#include "mcp/limit_tables.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace pillion::mcp {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(bucket_table, keys_have_buckets_of_their_own) {
    bucket_table table(64);
    const bucket_rate rate = bucket_rate::of(1, 2);
    for (const std::uint64_t key : {0x101U, 0x102U, 0x103U}) {
        EXPECT_EQ(table.take(key, rate, second), 0);
        EXPECT_EQ(table.take(key, rate, second), 0);
        EXPECT_EQ(table.take(key, rate, second), second);
    }
    EXPECT_EQ(table.take(0x101, rate, 2 * second), 0);
}

// Eight places in one set, and more keys than that which take turns. Whoever has used its tokens
// must not get new ones by being forgotten.
TEST(bucket_table, spraying_keys_gets_nobody_more_than_the_rate) {
    bucket_table table(8);
    const bucket_rate rate = bucket_rate::of(1, 4);
    base::seeded_random random(7);
    std::size_t given = 0;
    constexpr std::size_t keys = 4096;
    for (std::size_t i = 0; i < keys; ++i) {
        given += table.take(random.next() | 1U, rate, second) == 0 ? 1U : 0U;
    }
    // What the eight buckets hold, and not a token more.
    EXPECT_EQ(given, 8U * 4U);
    given = 0;
    for (std::size_t i = 0; i < keys; ++i) {
        given += table.take(random.next() | 1U, rate, 2 * second) == 0 ? 1U : 0U;
    }
    EXPECT_EQ(given, 8U);
}

TEST(bucket_table, a_debtor_is_not_forgiven_while_others_come_and_go) {
    bucket_table table(8);
    const bucket_rate rate = bucket_rate::of(1, 10);
    const std::uint64_t debtor = 42;
    for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(table.take(debtor, rate, second), 0);
    }
    for (std::uint64_t key = 100; key < 1100; ++key) {
        table.take(key, rate, second + static_cast<std::int64_t>(key));
    }
    EXPECT_GT(table.take(debtor, rate, second + 2000), 0);
}

TEST(count_table, counts_to_the_limit_and_back) {
    count_table table(64);
    std::vector<count_table::hold> held(4);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(table.add(7, 3, held[static_cast<std::size_t>(i)]));
    }
    EXPECT_FALSE(table.add(7, 3, held[3]));
    EXPECT_FALSE(held[3].held());
    EXPECT_TRUE(table.add(8, 3, held[3]));
    EXPECT_EQ(table.count(7), 3U);
    held[0].release();
    held[0].release();
    EXPECT_EQ(table.count(7), 2U);
    EXPECT_TRUE(table.add(7, 3, held[0]));
    held.clear();
    EXPECT_EQ(table.count(7), 0U);
    EXPECT_EQ(table.count(8), 0U);
}

TEST(count_table, a_hold_moves_with_its_count) {
    count_table table(8);
    count_table::hold a;
    ASSERT_TRUE(table.add(1 << 24, 1, a));
    count_table::hold b(std::move(a));
    EXPECT_TRUE(b.held());
    EXPECT_EQ(table.count(1 << 24), 1U);
    a = std::move(b);
    EXPECT_EQ(table.count(1 << 24), 1U);
    a.release();
    EXPECT_EQ(table.count(1 << 24), 0U);
}

// Nine keys want the eight places of a set: the ninth is served uncounted, and the places go to
// others when they are empty.
TEST(count_table, who_finds_no_place_is_not_counted) {
    count_table table(8);
    std::vector<count_table::hold> held(9);
    for (std::uint64_t i = 0; i < 9; ++i) {
        EXPECT_TRUE(table.add((i + 1) << 24, 1, held[i]));
        EXPECT_EQ(held[i].held(), i < 8);
    }
    held[3].release();
    EXPECT_TRUE(table.add(std::uint64_t{99} << 24, 1, held[8]));
    EXPECT_TRUE(held[8].held());
    EXPECT_EQ(table.count(std::uint64_t{4} << 24), 0U);
}

}  // namespace
}  // namespace pillion::mcp
