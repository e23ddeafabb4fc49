// What a refusal says: all faults of a value, up to eight, in bounded words of the schema.
#include <gtest/gtest.h>

#include "base/utf8.hpp"
#include "checked.hpp"

namespace pillion::schema_check {
namespace {

constexpr const char* weather = R"({"type":"object","properties":{
    "city":{"type":"string","minLength":2},"days":{"type":"integer","minimum":1,"maximum":14},
    "units":{"enum":["metric","imperial"]},"tags":{"items":{"type":"string"},"maxItems":2}},
    "required":["city","units"],"additionalProperties":false})";

TEST(report, names_every_fault) {
    EXPECT_EQ(checked(weather).all(R"({"city":"x","days":99,"tags":[1,"a",2],"cty":1})"),
              "/city minLength: is too short; characters at least: 2\n"
              "/days maximum: is above the maximum 14\n"
              "/tags maxItems: has too many elements; at most: 2\n"
              "/tags/0 type: has the wrong type; expected string\n"
              "/tags/2 type: has the wrong type; expected string\n"
              "/cty additionalProperties: is not a known property; known: city, days, tags, units\n"
              "/units required: is required\n");
    EXPECT_EQ(checked(weather).all("[]"), " type: has the wrong type; expected object\n");
}

TEST(report, the_first_of_many_is_the_first_alone) {
    const checked check(weather);
    const char* const value = R"({"days":99,"cty":1})";
    const verdict first = check(value);
    EXPECT_EQ(check.all(value).substr(0, first.path.size() + first.keyword.size() + 1),
              first.path + " " + first.keyword);
}

TEST(report, ends_after_eight) {
    std::string value = "[";
    for (int i = 0; i < 100; ++i) {
        value += "0,";
    }
    value.back() = ']';
    const std::string all = checked(R"({"items":{"type":"null"}})").all(value);
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 8);
    EXPECT_NE(all.find("/7 type"), std::string::npos);
}

TEST(report, a_value_of_the_wrong_type_is_told_that_alone) {
    EXPECT_EQ(checked(R"({"type":"string","enum":["a"],"anyOf":[{"minLength":1}]})").all("5"),
              " type: has the wrong type; expected string\n");
}

TEST(report, of_alternatives_the_one_of_its_kind_says_what_is_wrong) {
    const checked shapes(R"({"oneOf":[
        {"properties":{"kind":{"const":"line"},"to":{"type":"array"}},"required":["kind","to"]},
        {"properties":{"kind":{"const":"dot"},"size":{"minimum":1}},"required":["kind"]}]})");
    const std::string none = " oneOf: does not satisfy exactly one of the alternatives\n";
    EXPECT_EQ(shapes.all(R"({"kind":"line"})"), none + "/to required: is required\n");
    EXPECT_EQ(shapes.all(R"({"kind":"dot","size":0})"),
              none + "/size minimum: is below the minimum 1\n");
    // No kind at all, or more than one that it could be.
    EXPECT_EQ(shapes.all(R"({"kind":"none"})"), none);
    EXPECT_EQ(shapes.all("{}"), none);
    EXPECT_EQ(
        checked(R"({"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]})").all("{}"),
        " anyOf: satisfies none of the alternatives\n/a required: is required\n");
}

TEST(report, what_others_left_over_means_nothing_behind_a_fault) {
    EXPECT_EQ(checked(R"({"allOf":[{"properties":{"a":{"type":"null"}}}],
                  "unevaluatedProperties":false})")
                  .all(R"({"a":1,"b":2})"),
              "/a type: has the wrong type; expected null\n");
}

TEST(report, messages_are_bounded_and_cut_between_characters) {
    std::string schema = R"({"enum":[)";
    for (int i = 0; i < 200; ++i) {
        schema += "\"\u00e9\u00e9" + std::to_string(i) + "\",";
    }
    schema.back() = ']';
    const verdict got = checked(schema + "}")("1");
    EXPECT_LE(got.message.size(), message_bytes_max);
    EXPECT_TRUE(base::utf8::validate(got.message));
    EXPECT_TRUE(got.message.ends_with(" \u2026"));
}

TEST(report, repeats_nothing_of_the_value_but_names) {
    const std::string all = checked(R"({"properties":{"a":{"const":1,"pattern":"^b$","enum":["c"],
        "format":"email","not":{}}}})")
                                .all(R"({"a":"SECRET"})");
    EXPECT_EQ(all.find("SECRET"), std::string::npos);
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 4);
}

TEST(report, limits_have_words_of_their_own) {
    std::string chain = R"({"$defs":{"c0":true)";
    for (int i = 1; i <= 1000; ++i) {
        chain +=
            ",\"c" + std::to_string(i) + R"(":{"$ref":"#/$defs/c)" + std::to_string(i - 1) + "\"}";
    }
    EXPECT_EQ(checked(chain + R"(},"$ref":"#/$defs/c1000","type":"string"})").all(R"("a")"),
              " : is nested too deeply to be checked\n");
}

}  // namespace
}  // namespace pillion::schema_check
