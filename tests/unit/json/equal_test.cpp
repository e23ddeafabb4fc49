#include <string>

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::json {
namespace {

bool same(std::string_view a, std::string_view b) {
    const auto x = document::parse(a);
    const auto y = document::parse(b);
    EXPECT_TRUE(x.ok() && y.ok());
    const bool forth = equal(x->root(), y->root());
    EXPECT_EQ(forth, equal(y->root(), x->root())) << a << " and " << b;
    EXPECT_TRUE(equal(x->root(), x->root())) << a;
    return forth;
}

TEST(json_equal, compares_numbers_by_value) {
    EXPECT_TRUE(same("1", "1.0"));
    EXPECT_TRUE(same("100", "1E+2"));
    EXPECT_TRUE(same("0", "-0.0e9"));
    EXPECT_FALSE(same("9007199254740993", "9007199254740992"));
    EXPECT_FALSE(same("1", "\"1\""));
    EXPECT_FALSE(same("1", "-1"));
    EXPECT_FALSE(same("0", "false"));
}

TEST(json_equal, compares_arrays_in_order) {
    EXPECT_TRUE(same("[1,[2],{}]", "[1.0, [2], {} ]"));
    EXPECT_FALSE(same("[1,2]", "[2,1]"));
    EXPECT_FALSE(same("[1]", "[1,1]"));
    EXPECT_FALSE(same("[]", "{}"));
}

TEST(json_equal, compares_objects_without_order_and_with_the_last_duplicate) {
    EXPECT_TRUE(same(R"({"a":1,"b":2})", R"({"b":2,"a":1})"));
    EXPECT_FALSE(same(R"({"a":1})", R"({"a":1,"b":2})"));
    EXPECT_FALSE(same(R"({"a":1,"c":2})", R"({"a":1,"b":2})"));
    EXPECT_TRUE(same(R"({"a":0,"b":2,"a":1})", R"({"b":2,"a":1})"));
    EXPECT_FALSE(same(R"({"a":1,"a":2})", R"({"a":2,"b":1})"));
    EXPECT_FALSE(same(R"({"a":1,"a":2})", R"({"a":1})"));
    EXPECT_TRUE(same(R"({"\u0061":"\u0062"})", R"({"a":"b"})"));
}

TEST(json_equal, large_objects_compare_like_small_ones) {
    for (const int size : {15, 16, 17, 18, 1000}) {
        std::string up = "{";
        std::string down = "{";
        for (int i = 0; i < size; ++i) {
            const std::string comma = i == 0 ? "" : ",";
            up += comma + "\"" + std::to_string(i) + "\":" + std::to_string(i);
            down += comma + "\"" + std::to_string(size - 1 - i) +
                    "\":" + std::to_string(size - 1 - i) + ".0";
        }
        EXPECT_TRUE(same(up + "}", down + "}"));
        EXPECT_TRUE(same(up + ",\"0\":9}", down + ",\"0\":9}"));
        EXPECT_FALSE(same(up + ",\"0\":9}", down + "}"));
        EXPECT_FALSE(same(up + ",\"x\":9}", down + "}"));
    }
}

// Comparing hidden duplicates doubled the work at every level: 2^100 steps here.
TEST(json_equal, nested_duplicates_take_linear_time) {
    std::string text = "1";
    for (int depth = 0; depth < 100; ++depth) {
        text = "{\"a\":" + std::string(depth % 2 == 0 ? "1" : "{}") + ",\"a\":" + text + "}";
    }
    EXPECT_TRUE(same(text, text + " "));
}

TEST(json_equal, missing_equals_only_missing) {
    const auto d = document::parse("null");
    EXPECT_TRUE(equal(view(), view()));
    EXPECT_FALSE(equal(view(), d->root()));
    EXPECT_FALSE(equal(d->root(), view()));
}

}  // namespace
}  // namespace pillion::json
