#include "sidecar/openapi_schema.hpp"

#include <gtest/gtest.h>

#include "unit/sidecar/imported.hpp"

namespace pillion::sidecar {
namespace {

using namespace testing;

constexpr std::string_view new_version = "3.1.0";

TEST(openapi_schema, what_null_was_in_3_0) {
    EXPECT_EQ(translated(R"({"type":"string","nullable":true})"), R"({"type":["string","null"]})");
    EXPECT_EQ(translated(R"({"type":"string","nullable":false})"), R"({"type":"string"})");
    EXPECT_EQ(translated(R"({"type":"string","nullable":true,"enum":["a"]})"),
              R"({"type":["string","null"],"enum":["a",null]})");
    EXPECT_EQ(translated(R"({"type":"string","nullable":true,"enum":["a",null]})"),
              R"({"type":["string","null"],"enum":["a",null]})");
    EXPECT_EQ(translated(R"({"nullable":true,"oneOf":[{"type":"string"},{"type":"integer"}]})"),
              R"({"anyOf":[{"oneOf":[{"type":"string"},{"type":"integer"}]},{"type":"null"}]})");
}

TEST(openapi_schema, exclusive_bounds_were_booleans) {
    EXPECT_EQ(translated(R"({"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":9,
                             "exclusiveMaximum":false})"),
              R"({"type":"number","exclusiveMinimum":1,"maximum":9})");
    EXPECT_EQ(translated(R"({"exclusiveMaximum":true,"maximum":2.5})"),
              R"({"exclusiveMaximum":2.5})");
    EXPECT_EQ(translated(R"({"exclusiveMinimum":1,"minimum":0})", "{}", new_version),
              R"({"exclusiveMinimum":1,"minimum":0})");
}

TEST(openapi_schema, what_means_nothing_to_a_client) {
    EXPECT_EQ(translated(R"({"type":"string","xml":{"name":"n"},"externalDocs":{"url":"u"},
                             "x-internal":{"a":[1]},"example":"e","format":"uuid",
                             "description":"d","title":"t","deprecated":true,"writeOnly":true})"),
              R"({"description":"d","type":"string","examples":["e"],"format":"uuid","title":"t",)"
              R"("deprecated":true})");
    EXPECT_EQ(translated(R"({"example":{"a":1},"default":{"a":1}})"), R"({"default":{"a":1}})");
    EXPECT_EQ(translated(R"({"default":")" + std::string(1000, 'x') + "\"}"), "{}");
    // As of draft 3.
    EXPECT_EQ(translated(R"({"properties":{"a":{"type":"string","required":true}}})"),
              R"({"properties":{"a":{"type":"string"}}})");
}

TEST(openapi_schema, what_is_read_only_no_request_has) {
    EXPECT_EQ(translated(R"({"type":"object","properties":{"id":{"type":"integer","readOnly":true},
                             "name":{"type":"string"}},"required":["id","name"]})"),
              R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})");
    EXPECT_EQ(translated(R"({"properties":{"id":{"$ref":"#/components/schemas/Id"}},
                             "required":["id"]})",
                         R"({"schemas":{"Id":{"type":"integer","readOnly":true}}})"),
              R"({"properties":{},"required":[]})");
    // Declared in one part, required in another.
    EXPECT_EQ(translated(R"({"allOf":[{"$ref":"#/components/schemas/Base"},{"required":["id","n"]}],
                             "required":["id"]})",
                         R"({"schemas":{"Base":{"properties":{"id":{"readOnly":true},"n":{}}}}})"),
              R"({"allOf":[{"properties":{"n":{}}},{"required":["n"]}],"required":[]})");
}

TEST(openapi_schema, a_discriminator_says_which_one_is_meant) {
    const std::string cat = R"({"type":"object","properties":{"kind":{"type":"string"}}})";
    EXPECT_EQ(translated(R"({"oneOf":[)" + cat + "," + cat +
                         R"(],"discriminator":{"propertyName":"kind"}})"),
              R"({"anyOf":[)" + cat + "," + cat + "]}");
    const imported_tool tool = only_tool(with_body(
        R"({"oneOf":[)" + cat + "," + cat + R"(],"discriminator":{"propertyName":"kind"}})"));
    EXPECT_TRUE(takes(tool, R"({"body":{"kind":"a"}})"));
}

TEST(openapi_schema, used_once_it_stands_where_it_is_used) {
    EXPECT_EQ(translated(R"({"properties":{"a":{"$ref":"#/components/schemas/A"}}})",
                         R"({"schemas":{"A":{"items":{"$ref":"#/components/schemas/B"}},
                             "B":{"type":"string"}}})"),
              R"({"properties":{"a":{"items":{"type":"string"}}}})");
}

TEST(openapi_schema, used_twice_it_is_a_definition) {
    const imported_tool tool =
        only_tool(with_body(R"({"properties":{"a":{"$ref":"#/components/schemas/A%20B"},
                      "b":{"$ref":"#/components/schemas/A%20B","description":"own"}}})",
                            R"({"schemas":{"A B":{"type":"string"}}})"));
    EXPECT_EQ(input_of(tool, {"properties", "body", "properties"}),
              R"({"a":{"$ref":"#/$defs/A_20B"},"b":{"$ref":"#/$defs/A_20B","description":"own"}})");
    EXPECT_EQ(input_of(tool, {"$defs"}), R"({"A_20B":{"type":"string"}})");
    EXPECT_TRUE(takes(tool, R"({"body":{"a":"x"}})"));
    EXPECT_FALSE(takes(tool, R"({"body":{"b":1}})"));
}

TEST(openapi_schema, two_definitions_of_one_name) {
    const imported_tool tool = only_tool(with_body(
        R"({"prefixItems":[{"$ref":"#/components/schemas/A"},{"$ref":"#/components/schemas/A"},
            {"$ref":"#/components/x/A"},{"$ref":"#/components/x/A"}]})",
        R"({"schemas":{"A":{"type":"string"}},"x":{"A":{"type":"integer"}}})", new_version));
    EXPECT_EQ(input_of(tool, {"$defs"}), R"({"A":{"type":"string"},"A_2":{"type":"integer"}})");
    EXPECT_TRUE(takes(tool, R"({"body":["a","b",1,2]})"));
    EXPECT_FALSE(takes(tool, R"({"body":["a","b","c"]})"));
}

TEST(openapi_schema, what_refers_to_itself_stays_as_it_is) {
    const imported_tool tool =
        only_tool(with_body(R"({"$ref":"#/components/schemas/Node"})",
                            R"({"schemas":{"Node":{"type":"object","properties":{
            "next":{"$ref":"#/components/schemas/Node"},
            "all":{"type":"array","items":{"$ref":"#/components/schemas/Node"}}},
            "additionalProperties":false}}})"));
    EXPECT_TRUE(takes(tool, R"({"body":{"next":{"next":{"all":[{},{"next":{}}]}}}})"));
    EXPECT_FALSE(takes(tool, R"({"body":{"next":{"all":[{"x":1}]}}})"));
    // Through another, and entered in the middle.
    const imported_tool two = only_tool(
        with_body(R"({"properties":{"b":{"$ref":"#/components/schemas/B"}}})",
                  R"({"schemas":{"A":{"properties":{"b":{"$ref":"#/components/schemas/B"}}},
            "B":{"properties":{"a":{"$ref":"#/components/schemas/A"},"n":{"type":"integer"}}}}})"));
    EXPECT_TRUE(takes(two, R"({"body":{"b":{"a":{"b":{"n":1}}}}})"));
    EXPECT_FALSE(takes(two, R"({"body":{"b":{"a":{"b":{"n":"1"}}}}})"));
}

TEST(openapi_schema, what_stands_beside_a_reference) {
    const std::string_view a = R"({"schemas":{"A":{"type":"string"}}})";
    const std::string_view beside =
        R"({"$ref":"#/components/schemas/A","maxLength":2,"description":"d"})";
    EXPECT_EQ(translated(beside, a), R"({"description":"d","type":"string"})");
    const imported_tool tool = only_tool(with_body(beside, a, new_version));
    EXPECT_EQ(input_of(tool, {"properties", "body"}),
              R"({"$ref":"#/$defs/A","description":"d","maxLength":2})");
    EXPECT_FALSE(takes(tool, R"({"body":"abc"})"));
    EXPECT_FALSE(takes(tool, R"({"body":1})"));
}

TEST(openapi_schema, the_keywords_of_3_1_stay) {
    const std::string text =
        R"({"type":["object","null"],"properties":{"a":{"const":1},"b":{"prefixItems":[{}],)"
        R"("items":false,"contains":{"type":"string"},"minContains":1}},"patternProperties":)"
        R"({"^x":{"not":{"type":"null"}}},"if":{"required":["a"]},"then":{"required":["b"]},)"
        R"("else":true,"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{}},)"
        R"("propertyNames":{"maxLength":9},"unevaluatedProperties":false,"minProperties":1})";
    EXPECT_EQ(translated(text, "{}", new_version), text);
}

TEST(openapi_schema, what_makes_a_tool_impossible) {
    const auto skipped = [](std::string_view schema, std::string_view version = "3.0.3") {
        return report_of(
            with_body(schema, R"({"schemas":{"C":{"$ref":"#/components/schemas/C"}}})", version));
    };
    EXPECT_NE(skipped(R"({"$ref":"other.yaml#/A"})").find("none is fetched"), std::string::npos);
    EXPECT_NE(skipped(R"({"$ref":"#/nowhere"})").find("leads to nothing"), std::string::npos);
    EXPECT_NE(skipped(R"({"$ref":"#/components/schemas/C"})").find("without end"),
              std::string::npos);
    EXPECT_NE(skipped(R"({"type":"file"})").find("refused"), std::string::npos);
    EXPECT_NE(skipped(R"({"properties":{"a":1}})").find("neither an object"), std::string::npos);
    EXPECT_NE(skipped(R"({"$dynamicRef":"#x"})", new_version).find("$dynamicRef"),
              std::string::npos);
    EXPECT_NE(skipped(R"({"$id":"https://x.test/"})", new_version).find("$id"), std::string::npos);
    EXPECT_NE(skipped(R"({"$schema":"http://json-schema.org/draft-07/schema#"})", new_version)
                  .find("2020-12"),
              std::string::npos);
    EXPECT_EQ(skipped(R"({"$schema":"https://json-schema.org/draft/2020-12/schema"})", new_version),
              "");
}

TEST(openapi_schema, patterns_that_only_backtracking_matches) {
    EXPECT_EQ(translated(R"({"pattern":"^a+$"})"), R"({"pattern":"^a+$"})");
    const std::string text = with_body(R"({"type":"string","pattern":"^(?!x).$"})");
    EXPECT_EQ(input_of(only_tool(text), {"properties", "body"}), R"({"type":"string"})");
    EXPECT_EQ(report_of(text).rfind("POST /x: left out a pattern: ^(?!x).$", 0), 0U);
}

}  // namespace
}  // namespace pillion::sidecar
