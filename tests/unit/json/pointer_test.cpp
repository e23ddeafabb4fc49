#include "json/pointer.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/chunk.hpp"
#include "json/document.hpp"

namespace pillion::json {
namespace {

constexpr std::string_view rfc_sample =
    R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})";

TEST(json_pointer, resolves_the_examples_of_rfc_6901) {
    const auto d = document::parse(rfc_sample);
    ASSERT_TRUE(d.ok());
    const view root = d->root();
    EXPECT_EQ(resolve(root, "").raw(), root.raw());
    EXPECT_EQ(resolve(root, "/foo").size(), 2U);
    EXPECT_EQ(resolve(root, "/foo/0").str(), "bar");
    const std::pair<const char*, int> values[] = {
        {"/", 0},     {"/a~1b", 1}, {"/c%d", 2}, {"/e^f", 3},  {"/g|h", 4},
        {"/i\\j", 5}, {"/k\"l", 6}, {"/ ", 7},   {"/m~0n", 8},
    };
    for (const auto& [pointer, value] : values) {
        EXPECT_EQ(resolve(root, pointer).i64(), value) << pointer;
    }
}

TEST(json_pointer, what_is_not_there_or_malformed_is_missing) {
    const auto d = document::parse(R"({"a":[1,{"~1":2,"x":1,"x":9}],"b":"s"})");
    const view root = d->root();
    for (const char* pointer :
         {"a", "/z", "/a/2", "/a/-", "/a/01", "/a/+1", "/a/1.0", "/a/-0", "/a/", "/b/0", "/a/0/0",
          "/a/18446744073709551616", "/~", "/~2", "/a/1/~", "#/a"}) {
        EXPECT_FALSE(resolve(root, pointer)) << pointer;
    }
    EXPECT_EQ(resolve(root, "/a/1/~01").i64(), 2);
    EXPECT_EQ(resolve(root, "/a/1/x").i64(), 9);
    EXPECT_FALSE(resolve(view(), ""));
    EXPECT_TRUE(is_pointer("") && is_pointer("/") && is_pointer("/~0~1"));
    EXPECT_FALSE(is_pointer("x") || is_pointer("/~") || is_pointer("/~01~3"));
}

void every_value(view root, view at) {
    base::chunk_pool pool;
    base::byte_buffer text(pool);
    ASSERT_TRUE(append_pointer(text, root, at));
    EXPECT_EQ(resolve(root, text.view()).raw(), at.raw()) << text.view();
    for (const view e : at.elements()) {
        every_value(root, e);
    }
    for (const member m : at.members()) {
        every_value(root, m.value);
    }
}

TEST(json_pointer, the_pointer_of_every_value_leads_back_to_it) {
    for (const std::string_view text :
         {rfc_sample, std::string_view(R"([[],{"a":[{},[0,[1]]],"~/~":{"":{"":[7]}}},2])")}) {
        const auto d = document::parse(text);
        ASSERT_TRUE(d.ok());
        every_value(d->root(), d->root());
    }
}

TEST(json_pointer, a_value_outside_has_no_pointer) {
    const auto d = document::parse(R"([[1],[2]])");
    base::chunk_pool pool;
    base::byte_buffer text(pool);
    EXPECT_FALSE(append_pointer(text, d->root()[0], d->root()[1]));
    EXPECT_FALSE(append_pointer(text, d->root()[0], d->root()));
    EXPECT_FALSE(append_pointer(text, d->root(), view()));
    EXPECT_FALSE(append_pointer(text, view(), d->root()));
    EXPECT_TRUE(text.empty());
}

TEST(json_pointer, steps_on_a_stack_give_the_text) {
    base::chunk_pool pool;
    base::byte_buffer text(pool);
    const path_step first{nullptr, "a/b", 0, true};
    const path_step second{&first, {}, 12, false};
    const path_step third{&second, "~", 0, true};
    append_pointer(text, nullptr);
    EXPECT_TRUE(text.empty());
    append_pointer(text, &third);
    EXPECT_EQ(text.view(), "/a~1b/12/~0");
}

}  // namespace
}  // namespace pillion::json
