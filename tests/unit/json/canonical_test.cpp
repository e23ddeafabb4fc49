#include "json/canonical.hpp"

#include <string>

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::json {
namespace {

std::string canonical(std::string_view text) {
    base::chunk_pool pool;
    base::arena memory(pool);
    base::byte_buffer out(pool);
    const auto parsed = document::parse(text);
    EXPECT_TRUE(parsed) << text;
    write_canonical(parsed->root(), out, memory);
    return std::string(out.view());
}

TEST(Canonical, OrderAndSpaceDoNotCount) {
    EXPECT_EQ(canonical(R"( { "b" : [ 1 , { "y":2, "x":1 } ] , "a" : "\u0041" } )"),
              R"({"a":"A","b":[1,{"x":1,"y":2}]})");
    EXPECT_EQ(canonical(R"({"b":1,"a":2})"), canonical(R"({"a":2,"b":1})"));
}

TEST(Canonical, OrderInArraysCounts) { EXPECT_NE(canonical("[1,2]"), canonical("[2,1]")); }

TEST(Canonical, NumbersByValue) {
    for (const char* one : {"1", "1.0", "10e-1", "1E0"}) {
        EXPECT_EQ(canonical(one), "1") << one;
    }
    EXPECT_EQ(canonical("0.5"), canonical("5e-1"));
    EXPECT_EQ(canonical("18446744073709551615"), "18446744073709551615");
    EXPECT_EQ(canonical("-9223372036854775808"), "-9223372036854775808");
    EXPECT_NE(canonical("100000000000000000000001"), canonical("100000000000000000000002"));
    EXPECT_NE(canonical("1"), canonical("\"1\""));
}

TEST(Canonical, TheLastOfEqualNamesCounts) {
    EXPECT_EQ(canonical(R"({"a":1,"b":0,"a":2})"), R"({"a":2,"b":0})");
}

TEST(Canonical, LiteralsAndEmptyOnes) {
    EXPECT_EQ(canonical("[null,true,false,{},[],\"\"]"), "[null,true,false,{},[],\"\"]");
}

}  // namespace
}  // namespace pillion::json
