// validator: what failures say, limits, draft-07, and values beyond what doubles can tell apart.
#include "schema/validator.hpp"

#include <gtest/gtest.h>

#include "checked.hpp"

namespace pillion::schema_check {
namespace {

TEST(validator, a_failure_names_path_keyword_and_reason) {
    struct one_case {
        const char* schema;
        const char* value;
        const char* path;
        const char* keyword;
        const char* reason;
    };
    const one_case cases[] = {
        {R"({"type":"object"})", "1", "", "type", "type"},
        {R"({"required":["city"]})", "{}", "/city", "required", "required"},
        {R"({"properties":{"a":{"required":["b/c"]}}})", R"({"a":{}})", "/a/b~1c", "required",
         "required"},
        {R"({"properties":{"n":{"minimum":1}}})", R"({"n":0})", "/n", "minimum", "range"},
        {R"({"maximum":1})", "2", "", "maximum", "range"},
        {R"({"exclusiveMinimum":1})", "1", "", "exclusiveMinimum", "range"},
        {R"({"exclusiveMaximum":1})", "1", "", "exclusiveMaximum", "range"},
        {R"({"multipleOf":2})", "1", "", "multipleOf", "range"},
        {R"({"minLength":2})", "\"\xC3\xA9\"", "", "minLength", "range"},
        {R"({"maxItems":0})", "[1]", "", "maxItems", "range"},
        {R"({"minItems":1})", "[]", "", "minItems", "range"},
        {R"({"maxProperties":0})", R"({"a":1})", "", "maxProperties", "range"},
        {R"({"items":{"enum":["a"]}})", R"(["a","b"])", "/1", "enum", "enum"},
        {R"({"const":{"a":1}})", R"({"a":2})", "", "const", "enum"},
        {R"({"items":{"properties":{"x":{"type":"string"}}}})", R"([{},{"x":1}])", "/1/x", "type",
         "type"},
        {R"({"additionalProperties":false})", R"({"x":1})", "/x", "additionalProperties",
         "unknown"},
        {R"({"properties":{"x":false}})", R"({"x":1})", "/x", "additionalProperties", "unknown"},
        {R"({"prefixItems":[true],"items":false})", "[1,2]", "/1", "items", "range"},
        {R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "1", "", "anyOf", "schema"},
        {R"({"oneOf":[{"minimum":1},{"maximum":5}]})", "3", "", "oneOf", "schema"},
        {R"({"allOf":[true,{"minimum":5}]})", "3", "", "minimum", "range"},
        {R"({"not":{"type":"string"}})", "\"a\"", "", "not", "schema"},
        {R"({"if":{"minimum":1},"then":{"maximum":2}})", "3", "", "maximum", "range"},
        {R"({"uniqueItems":true})", "[1,2,1.0]", "", "uniqueItems", "unique"},
        {R"({"contains":{"type":"null"}})", "[1]", "", "contains", "schema"},
        {R"({"propertyNames":{"maxLength":1}})", R"({"ab":1})", "/ab", "propertyNames", "unknown"},
        {R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})", "/b", "dependentRequired",
         "required"},
        {"false", "1", "", "false", "unknown"},
    };
    for (const one_case& c : cases) {
        const verdict got = checked(c.schema)(c.value);
        EXPECT_FALSE(got.ok) << c.schema;
        EXPECT_EQ(got.path, c.path) << c.schema;
        EXPECT_EQ(got.keyword, c.keyword) << c.schema;
        EXPECT_EQ(got.reason, c.reason) << c.schema;
        EXPECT_FALSE(got.message.empty()) << c.schema;
    }
}

TEST(validator, the_declared_path_holds_no_name_of_the_client) {
    const checked check(
        R"({"properties":{"a":{"additionalProperties":{"properties":{"n":{"type":"null"}}}}},
            "additionalProperties":false})");
    const verdict below = check(R"({"a":{"secret":{"n":1}}})");
    EXPECT_EQ(below.path, "/a/secret/n");
    EXPECT_EQ(below.declared_path, "/a");
    const verdict unknown = check(R"({"secret~/":1})");
    EXPECT_EQ(unknown.path, "/secret~0~1");
    EXPECT_EQ(unknown.declared_path, "");
    EXPECT_EQ(checked(R"({"properties":{"a":{"items":false}}})")(R"({"a":[1]})").declared_path,
              "/a/0");
}

TEST(validator, failures_in_probes_are_not_reported) {
    const checked check(R"({"anyOf":[{"required":["a"]},{"required":["b"]}],"minProperties":2})");
    EXPECT_EQ(check(R"({"c":1,"d":2})").keyword, "anyOf");
    EXPECT_EQ(check(R"({"b":1})").keyword, "minProperties");
    EXPECT_TRUE(check(R"({"b":1,"c":1})").ok);
}

TEST(validator, numbers_are_exact) {
    EXPECT_FALSE(checked(R"({"maximum":9007199254740992})")("9007199254740993").ok);
    EXPECT_FALSE(checked(R"({"maximum":18446744073709551615})")("18446744073709551616").ok);
    EXPECT_TRUE(checked(R"({"maximum":18446744073709551615.0})")("18446744073709551615").ok);
    EXPECT_TRUE(checked(R"({"type":"integer"})")("1e2").ok);
    EXPECT_TRUE(checked(R"({"type":"integer"})")("12345678901234567890123").ok);
    EXPECT_FALSE(checked(R"({"type":"integer"})")("1.00000000000000000000001").ok);
    EXPECT_TRUE(checked(R"({"minimum":1e-400})")("1e-399").ok);
    EXPECT_FALSE(checked(R"({"const":9007199254740993})")("9007199254740992").ok);
}

TEST(validator, draft7_when_the_schema_says_so) {
    const std::string d7 = R"("$schema":"http://json-schema.org/draft-07/schema#")";
    const checked tuple("{" + d7 + R"(,"items":[{"type":"null"}],"additionalItems":false})");
    EXPECT_TRUE(tuple("[null]").ok);
    EXPECT_FALSE(tuple("[1]").ok);
    EXPECT_EQ(tuple("[null,1]").path, "/1");
    const checked alone("{" + d7 + R"(,"definitions":{"s":{"type":"string"}},
        "properties":{"a":{"$ref":"#/definitions/s","maxLength":1}},
        "dependencies":{"a":["b"],"c":{"required":["d"]}}})");
    EXPECT_TRUE(alone(R"({"a":"long","b":1})").ok);
    EXPECT_EQ(alone(R"({"a":"long"})").path, "/b");
    EXPECT_EQ(alone(R"({"c":1})").path, "/d");
    EXPECT_TRUE(checked(R"({"dependencies":{"a":["b"]}})")(R"({"a":1})").ok);
}

TEST(validator, references_recurse_through_the_value) {
    const checked list(R"({"$defs":{"n":{"type":"object","required":["v"],
        "properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/n"}},
        "additionalProperties":false}},"$ref":"#/$defs/n"})");
    EXPECT_TRUE(list(R"({"v":1,"next":{"v":2,"next":{"v":3}}})").ok);
    EXPECT_EQ(list(R"({"v":1,"next":{"v":2,"next":{}}})").path, "/next/next/v");
    const checked self(R"({"$id":"https://x.test/s","items":{"$ref":"https://x.test/s#"},
        "type":"array"})");
    EXPECT_TRUE(self("[[],[[]]]").ok);
    EXPECT_EQ(self("[[],[1]]").path, "/1/0");
}

TEST(validator, properties_that_no_pattern_matches_are_additional) {
    const checked check(R"({"properties":{"x-n":{"type":"integer"}},
        "patternProperties":{"^x-":{"minimum":1},"z$":true},"additionalProperties":false})");
    EXPECT_TRUE(check(R"({"x-a":1,"xyz":0})").ok);
    EXPECT_EQ(check(R"({"b":1})").path, "/b");
    EXPECT_EQ(check(R"({"b":1})").declared_path, "");
    EXPECT_EQ(check(R"({"x-n":1.5})").keyword, "type");
    EXPECT_EQ(check(R"({"x-n":0})").keyword, "minimum");
}

TEST(validator, many_properties_are_found) {
    std::string schema = R"({"properties":{)";
    std::string value = "{";
    for (int i = 0; i < 500; ++i) {
        const std::string name = "\"p" + std::to_string(i) + "\":";
        schema += (i > 0 ? "," : "") + name + "{\"const\":" + std::to_string(i) + "}";
        value += (i > 0 ? "," : "") + name + std::to_string(i);
    }
    const checked check(schema + "},\"additionalProperties\":false}");
    EXPECT_TRUE(check(value + "}").ok);
    EXPECT_EQ(check(value + ",\"q\":1}").path, "/q");
    EXPECT_EQ(check(R"({"p77":78})").path, "/p77");
}

TEST(validator, work_and_depth_are_bounded) {
    // Two alternatives in each other: 2^40 ways without a budget.
    std::string schema = R"({"$defs":{"e0":{"type":"null"})";
    for (int i = 1; i <= 40; ++i) {
        const std::string ref = R"({"$ref":"#/$defs/e)" + std::to_string(i - 1) + "\"}";
        schema += ",\"e" + std::to_string(i) + R"(":{"anyOf":[)" + ref + "," + ref + "]}";
    }
    EXPECT_EQ(checked(schema + R"(},"$ref":"#/$defs/e40"})")("1").reason, "limit");
    EXPECT_EQ(checked(schema + R"(},"not":{"$ref":"#/$defs/e40"}})")("1").reason, "limit");

    std::string chain = R"({"$defs":{"c0":true)";
    for (int i = 1; i <= 1000; ++i) {
        chain +=
            ",\"c" + std::to_string(i) + R"(":{"$ref":"#/$defs/c)" + std::to_string(i - 1) + "\"}";
    }
    EXPECT_TRUE(checked(chain + R"(},"$ref":"#/$defs/c400"})")("1").ok);
    EXPECT_EQ(checked(chain + R"(},"$ref":"#/$defs/c1000"})")("1").reason, "limit");
}

TEST(validator, the_largest_request_fits_the_budget) {
    const checked check(R"({"type":"array","items":{"type":"integer","minimum":0,"maximum":9}})");
    std::string value = "[";
    while (value.size() < 1'000'000) {
        value += "7,";
    }
    value.back() = ']';
    EXPECT_TRUE(check(value).ok);
    EXPECT_TRUE(checked(R"({"uniqueItems":false})")(value).ok);
    EXPECT_FALSE(checked(R"({"uniqueItems":true})")(value).ok);
}

TEST(validator, unique_items_of_many_values) {
    std::string value = "[";
    for (int i = 0; i < 100'000; ++i) {
        value += std::to_string(i) + ",\"" + std::to_string(i) + "\",";
    }
    const checked check(R"({"uniqueItems":true})");
    EXPECT_TRUE(check(value + "null]").ok);
    EXPECT_FALSE(check(value + "99999.0]").ok);
    EXPECT_FALSE(check("[-0.0,0]").ok);
    EXPECT_FALSE(check(R"([{"a":1,"b":2},{"b":2,"a":1}])").ok);
    EXPECT_TRUE(check(R"([[1],[true],["1"],[],{},null,false,0,""])").ok);
}

}  // namespace
}  // namespace pillion::schema_check
