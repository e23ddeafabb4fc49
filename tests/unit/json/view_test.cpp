#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <pillion/json.hpp>

#include "json/document.hpp"

namespace pillion::json {
namespace {

static_assert(sizeof(view) == sizeof(void*));
static_assert(std::forward_iterator<element_iterator>);
static_assert(std::forward_iterator<member_iterator>);

document doc(std::string_view text) {
    auto parsed = document::parse(text);
    EXPECT_TRUE(parsed.ok()) << text;
    return std::move(*parsed);
}

TEST(json_view, tells_the_type_of_every_value) {
    const document d = doc(R"({"n":null,"t":true,"f":false,"i":1,"r":1.0,"s":"x","a":[],"o":{}})");
    const view v = d.root();
    EXPECT_TRUE(v.is_object());
    EXPECT_TRUE(v["n"].is_null());
    EXPECT_TRUE(v["t"].is_bool() && v["t"].boolean());
    EXPECT_TRUE(v["f"].is_bool() && !v["f"].boolean(true));
    EXPECT_TRUE(v["i"].is_number() && v["i"].is_integer());
    EXPECT_TRUE(v["r"].is_number() && !v["r"].is_integer());
    EXPECT_TRUE(v["s"].is_string());
    EXPECT_TRUE(v["a"].is_array());
    EXPECT_TRUE(v["o"].is_object());
    EXPECT_EQ(v["z"].type(), kind::missing);
}

TEST(json_view, a_missing_value_is_harmless_all_the_way) {
    const view none;
    EXPECT_FALSE(none);
    EXPECT_FALSE(none["a"]["b"][3].exists());
    EXPECT_FALSE(none.is_null());
    EXPECT_EQ(none.str("x"), "x");
    EXPECT_EQ(none.size(), 0U);
    EXPECT_EQ(none.num(2.5), 2.5);
    EXPECT_TRUE(none.boolean(true));
    EXPECT_FALSE(none.i64() || none.u64() || none.f64() || none.integral());
    EXPECT_EQ(none.number_text(), "");
    EXPECT_TRUE(none.elements().empty());
    EXPECT_TRUE(none.members().empty());
    const document d = doc("[1]");
    EXPECT_FALSE(d.root()["a"]);
    EXPECT_FALSE(d.root()[1]);
    EXPECT_FALSE(d.root()[0][0]);
    EXPECT_FALSE(doc("{\"0\":1}").root()[0]);
}

TEST(json_view, values_of_another_type_give_the_fallback) {
    const document d = doc(R"(["1",1,true,null])");
    EXPECT_FALSE(d.root()[0].i64());
    EXPECT_EQ(d.root()[1].str("no"), "no");
    EXPECT_EQ(d.root()[2].num(7), 7);
    EXPECT_TRUE(d.root()[3].boolean(true));
    EXPECT_EQ(d.root()[0].number_text(), "");
}

TEST(json_view, numbers_keep_their_text_byte_for_byte) {
    for (const char* text : {"1", "-0", "9223372036854775807", "9007199254740993", "1.0", "1e0",
                             "123456789012345678901234567890", "-1.50E+03", "0.1"}) {
        EXPECT_EQ(doc(text).root().number_text(), text);
    }
}

TEST(json_view, integers_are_exact_or_nothing) {
    EXPECT_EQ(doc("9223372036854775807").root().i64(), INT64_MAX);
    EXPECT_EQ(doc("-9223372036854775808").root().i64(), INT64_MIN);
    EXPECT_FALSE(doc("9223372036854775808").root().i64());
    EXPECT_FALSE(doc("-9223372036854775809").root().i64());
    EXPECT_EQ(doc("18446744073709551615").root().u64(), UINT64_MAX);
    EXPECT_FALSE(doc("18446744073709551616").root().u64());
    EXPECT_FALSE(doc("-1").root().u64());
    EXPECT_EQ(doc("-0").root().u64(), 0U);
    EXPECT_FALSE(doc("42.0").root().i64());
    EXPECT_FALSE(doc("1e0").root().i64());
    EXPECT_EQ(doc("42.0").root().integral(), 42);
    EXPECT_EQ(doc("4.2e1").root().integral(), 42);
    EXPECT_FALSE(doc("4.25e1").root().integral());
}

TEST(json_view, doubles_are_the_nearest) {
    EXPECT_EQ(doc("0.1").root().f64(), 0.1);
    EXPECT_EQ(doc("9007199254740993").root().num(), 9007199254740992.0);
    EXPECT_FALSE(doc("1e400").root().f64());
    EXPECT_EQ(doc("1e-400").root().f64(), 0.0);
}

TEST(json_view, the_last_of_duplicate_keys_wins) {
    const document d = doc(R"({"a":1,"b":{"a":5},"a":2,"c":0,"a":3})");
    EXPECT_EQ(d.root()["a"].i64(), 3);
    EXPECT_EQ(d.root().size(), 5U);
    EXPECT_TRUE(has_duplicate_key(d.root(), "a"));
    EXPECT_FALSE(has_duplicate_key(d.root(), "b"));
    EXPECT_FALSE(has_duplicate_key(d.root(), "x"));
    EXPECT_FALSE(has_duplicate_key(d.root()["c"], "a"));
    EXPECT_FALSE(has_duplicate_key(view(), "a"));
}

TEST(json_view, duplicates_are_seen_through_escapes) {
    EXPECT_TRUE(has_duplicate_key(doc(R"({"id":1,"\u0069d":2})").root(), "id"));
}

TEST(json_view, keys_compare_by_their_whole_length) {
    const document d = doc(R"({"":0,"a":1,"ab":2,"a\u0000":3})");
    EXPECT_EQ(d.root()[""].i64(), 0);
    EXPECT_EQ(d.root()["a"].i64(), 1);
    EXPECT_EQ(d.root()["ab"].i64(), 2);
    EXPECT_EQ(d.root()[std::string_view("a\0", 2)].i64(), 3);
}

TEST(json_view, keys_compare_by_every_byte) {
    for (std::size_t size = 0; size <= 40; ++size) {
        std::string key(size, 'k');
        const auto doc = document::parse(R"({"other":0,")" + key + R"(":1})");
        ASSERT_TRUE(doc.ok());
        EXPECT_EQ(doc->root()[key].i64(), 1) << size;
        for (std::size_t at = 0; at < size; ++at) {
            key[at] = 'x';
            EXPECT_FALSE(doc->root()[key].exists()) << size << " " << at;
            key[at] = 'k';
        }
    }
}

TEST(json_view, iterates_in_input_order_over_nested_values) {
    const document d = doc(R"({"z":[1,[2,{"q":3}],4],"a":{"b":{}},"m":5})");
    std::string keys;
    for (const member m : d.root().members()) {
        keys += m.key;
    }
    EXPECT_EQ(keys, "zam");
    std::vector<kind> kinds;
    for (const view e : d.root()["z"].elements()) {
        kinds.push_back(e.type());
    }
    EXPECT_EQ(kinds, (std::vector<kind>{kind::number, kind::array, kind::number}));
    EXPECT_EQ(d.root()["z"][2].i64(), 4);
    EXPECT_EQ(d.root()["m"].i64(), 5);
    EXPECT_TRUE(d.root()["z"].members().empty());
    EXPECT_TRUE(d.root().elements().empty());
}

TEST(json_document, reports_the_offset_and_survives_a_move) {
    std::size_t offset = 99;
    const auto bad = document::parse("[1,x]", &offset);
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().kind, errc::invalid);
    EXPECT_EQ(offset, 3U);
    document first = doc("[\"text\"]");
    const view v = first.root()[0];
    document second = std::move(first);
    EXPECT_EQ(v.str(), "text");
    EXPECT_EQ(second.root().size(), 1U);
    second = doc("{}");
    EXPECT_TRUE(second.root().is_object());
}

}  // namespace
}  // namespace pillion::json
