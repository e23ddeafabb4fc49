// Names and their positions.
#include "mcp/name_table.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::mcp::testing {
namespace {

TEST(name_table, is_empty_at_first) {
    const name_table none;
    EXPECT_EQ(none.find("x"), name_table::none);
    EXPECT_EQ(none.find(""), name_table::none);
}

TEST(name_table, finds_each_of_many_and_nothing_else) {
    std::vector<std::string> names = {"", "a", std::string(1000, 'n')};
    for (int i = 0; i < 5000; ++i) {
        names.push_back("tool_" + std::to_string(i));
    }
    name_table table;
    for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(table.find(names[i]), name_table::none);
        EXPECT_TRUE(table.add(names[i], i));
        EXPECT_FALSE(table.add(names[i], 7));
        EXPECT_EQ(table.find(names[i]), i);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(table.find(std::string(names[i])), i);
        EXPECT_EQ(table.find(names[i] + "?"), name_table::none);
    }
}

}  // namespace
}  // namespace pillion::mcp::testing
