
#include "mcp/spent_nonces.hpp"

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

using spending = spent_nonces::outcome;

TEST(spent_nonces, each_is_spent_once) {
    spent_nonces table;
    EXPECT_FALSE(table.spent("a"));
    EXPECT_EQ(table.spend("a", 0, 10), spending::first);
    EXPECT_TRUE(table.spent("a"));
    EXPECT_FALSE(table.spent("b"));
    EXPECT_EQ(table.spend("a", 1, 20), spending::again);
    EXPECT_EQ(table.spend("b", 1, 20), spending::first);
    EXPECT_EQ(table.size(), 2U);
}

TEST(spent_nonces, they_are_forgotten_when_nothing_is_valid_any_more) {
    spent_nonces table;
    EXPECT_EQ(table.spend("a", 0, 10), spending::first);
    EXPECT_EQ(table.spend("b", 5, 15), spending::first);
    EXPECT_EQ(table.spend("c", 10, 20), spending::first);
    EXPECT_EQ(table.size(), 3U);  // valid until 10, that included
    EXPECT_EQ(table.spend("a", 10, 20), spending::again);
    EXPECT_EQ(table.spend("d", 11, 21), spending::first);
    EXPECT_FALSE(table.spent("a"));
    EXPECT_TRUE(table.spent("b"));
    EXPECT_EQ(table.spend("e", 1000, 1010), spending::first);
    EXPECT_EQ(table.size(), 1U);
}

// Dropping one to make room would let it be spent again.
TEST(spent_nonces, a_full_table_refuses_and_forgets_nothing) {
    spent_nonces table(3);
    for (const char* one : {"a", "b", "c"}) {
        EXPECT_EQ(table.spend(one, 0, 100), spending::first);
    }
    EXPECT_EQ(table.spend("d", 50, 150), spending::full);
    EXPECT_FALSE(table.spent("d"));
    for (const char* one : {"a", "b", "c"}) {
        EXPECT_EQ(table.spend(one, 50, 150), spending::again);
    }
    EXPECT_EQ(table.spend("d", 101, 201), spending::first);
    EXPECT_EQ(table.size(), 1U);
}

// A clock that was set back keeps entries longer, never shorter.
TEST(spent_nonces, a_clock_that_goes_back_forgets_nothing) {
    spent_nonces table;
    EXPECT_EQ(table.spend("late", 1000, 1100), spending::first);
    EXPECT_EQ(table.spend("early", 10, 110), spending::first);
    EXPECT_EQ(table.spend("x", 500, 600), spending::first);
    EXPECT_TRUE(table.spent("late"));
    EXPECT_TRUE(table.spent("early"));
    EXPECT_EQ(table.spend("y", 1101, 1200), spending::first);
    EXPECT_EQ(table.size(), 1U);
}

}  // namespace
}  // namespace pillion::mcp
