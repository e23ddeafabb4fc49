#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <pillion/json.hpp>

#include "json/document.hpp"

namespace pillion::json {
namespace {

TEST(json_builder, composes_nested_values) {
    builder b;
    b.begin_object()
        .member("s", "text")
        .member("sv", std::string_view("view"))
        .member("str", std::string("string"))
        .member("t", true)
        .member("i", 1)
        .member("i64", std::int64_t{INT64_MIN})
        .member("u64", std::uint64_t{UINT64_MAX})
        .member("d", 2.5)
        .member("f", 0.5F)
        .member("n", nullptr)
        .key("a")
        .begin_array()
        .value(1)
        .value("two")
        .begin_array()
        .end_array()
        .begin_object()
        .end_object()
        .end_array();
    EXPECT_FALSE(b.complete());
    b.end_object();
    EXPECT_TRUE(b.complete());
    EXPECT_EQ(b.text(),
              R"({"s":"text","sv":"view","str":"string","t":true,"i":1,)"
              R"("i64":-9223372036854775808,"u64":18446744073709551615,"d":2.5,"f":0.5,"n":null,)"
              R"("a":[1,"two",[],{}]})");
}

TEST(json_builder, replaces_what_json_cannot_hold) {
    builder b;
    b.begin_array()
        .value(std::nan(""))
        .value(std::numeric_limits<double>::infinity())
        .value("\xFF\n\x01\"")
        .value(static_cast<const char*>(nullptr))
        .value(view())
        .end_array();
    EXPECT_EQ(b.text(), "[null,null,\"\xEF\xBF\xBD\\n\\u0001\\\"\",null,null]");
}

TEST(json_builder, raw_text_stays_on_one_line) {
    builder b;
    b.begin_array().raw("{\n  \"a\\n\": 1\r\n}").raw("2").end_array();
    EXPECT_EQ(b.text(), "[{   \"a\\n\": 1  },2]");
    EXPECT_TRUE(document::parse(b.text()).ok());
}

TEST(json_builder, copies_parsed_values) {
    auto d = document::parse(R"({"a":[1.50,-0,"x\ty",{"k":null}],"b":true})");
    ASSERT_TRUE(d.ok());
    builder b;
    b.begin_object().member("copy", d->root()).end_object();
    EXPECT_EQ(b.text(), R"({"copy":{"a":[1.50,-0,"x\ty",{"k":null}],"b":true}})");
}

TEST(json_builder, can_start_over) {
    builder b;
    b.begin_object().key("a");
    b.clear();
    b.value(1);
    EXPECT_EQ(b.text(), "1");
}

TEST(json_builder_death, misuse_ends_the_process) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(builder().key("a"), "assertion failed");
    EXPECT_DEATH(builder().begin_array().key("a"), "assertion failed");
    EXPECT_DEATH(builder().begin_object().value(1), "assertion failed");
    EXPECT_DEATH(builder().begin_object().key("a").key("b"), "assertion failed");
    EXPECT_DEATH(builder().begin_object().key("a").end_object(), "assertion failed");
    EXPECT_DEATH(builder().begin_object().end_array(), "assertion failed");
    EXPECT_DEATH(builder().end_object(), "assertion failed");
    EXPECT_DEATH(builder().value(1).value(2), "assertion failed");
}

}  // namespace
}  // namespace pillion::json
