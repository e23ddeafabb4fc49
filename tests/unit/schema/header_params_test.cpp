// header_params: where x-mcp-header may stand and where not.
#include "schema/header_params.hpp"

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::schema_check {
namespace {

std::string header_fault(std::string_view schema) {
    auto parsed = json::document::parse(schema);
    EXPECT_TRUE(parsed) << schema;
    std::vector<header_param> found;
    std::string fault;
    const bool good = collect_header_params(parsed->root(), found, fault);
    EXPECT_EQ(good, fault.empty());
    return fault;
}

TEST(header_params, are_found_through_properties_in_document_order) {
    auto parsed = json::document::parse(
        R"({"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "x-mcp-header":{"type":"string"},
            "deep":{"type":"object","properties":{
                "a/b":{"type":"integer","x-mcp-header":"Depth-2"},
                "properties":{"type":["boolean","null"],"x-mcp-header":"flag"}}}}})");
    std::vector<header_param> found;
    std::string fault;
    ASSERT_TRUE(collect_header_params(parsed->root(), found, fault)) << fault;
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].suffix, "Region");
    EXPECT_EQ(found[0].header_name, "mcp-param-region");
    EXPECT_EQ(found[0].path, std::vector<std::string>{"region"});
    EXPECT_EQ(found[0].type, header_type::string);
    EXPECT_EQ(found[1].path, (std::vector<std::string>{"deep", "a/b"}));
    EXPECT_EQ(found[1].type, header_type::integer);
    EXPECT_EQ(found[2].path, (std::vector<std::string>{"deep", "properties"}));
    EXPECT_EQ(found[2].type, header_type::boolean);
}

TEST(header_params, data_is_no_annotation) {
    EXPECT_EQ(header_fault(R"({"properties":{"a":{"default":{"x-mcp-header":1}},
        "b":{"enum":[{"x-mcp-header":1}]},"c":{"const":{"x-mcp-header":1}},
        "d":{"items":{"properties":{"x-mcp-header":{"type":"string"}}}}}})"),
              "");
}

TEST(header_params, a_bad_annotation_is_a_fault_with_its_place) {
    const auto on_a = [](const std::string& schema) {
        return header_fault(R"({"properties":{"a":)" + schema + "}}");
    };
    const char* const suffixes[] = {R"("")", R"("a b")", R"("a:b")", R"("\u00e9")", "1", "true"};
    for (const std::string suffix : suffixes) {
        EXPECT_EQ(on_a(R"({"type":"string","x-mcp-header":)" + suffix + "}"),
                  "#/properties/a: x-mcp-header must be an HTTP token");
    }
    const char* const types[] = {R"("number")", R"("object")", R"("array")",
                                 R"("null")",   "[]",          R"(["string","integer"])",
                                 R"(["null"])"};
    for (const std::string type : types) {
        EXPECT_EQ(on_a(R"({"x-mcp-header":"X","type":)" + type + "}"),
                  "#/properties/a: x-mcp-header is allowed only on strings, integers and booleans");
    }
    EXPECT_NE(on_a(R"({"x-mcp-header":"X"})"), "");
    EXPECT_NE(header_fault(R"({"type":"string","x-mcp-header":"X"})"), "");
    EXPECT_EQ(header_fault(R"({"properties":{"a":{"type":"string","x-mcp-header":"City"},
        "b":{"type":"string","x-mcp-header":"cITY"}}})"),
              "#/properties/b: x-mcp-header names a header that another argument has already");
}

TEST(header_params, nothing_but_properties_leads_to_an_annotation) {
    const std::string leaf = R"({"type":"string","x-mcp-header":"X"})";
    const std::string object = R"({"properties":{"b":)" + leaf + "}}";
    for (const std::string& inner : {leaf, object}) {
        for (const std::string keyword : {"items", "not", "if", "then", "else", "contains",
                                          "additionalProperties", "propertyNames"}) {
            const std::string schema = "{\"" + keyword + "\":" + inner + "}";
            EXPECT_NE(header_fault(schema), "") << schema;
            EXPECT_NE(header_fault(R"({"properties":{"a":)" + schema + "}}"), "") << schema;
        }
        for (const std::string keyword : {"allOf", "anyOf", "oneOf", "prefixItems"}) {
            EXPECT_NE(header_fault("{\"" + keyword + "\":[" + inner + "]}"), "") << keyword;
        }
        for (const std::string keyword :
             {"$defs", "definitions", "patternProperties", "dependentSchemas"}) {
            EXPECT_NE(header_fault("{\"" + keyword + "\":{\"d\":" + inner + "}}"), "") << keyword;
        }
    }
}

// A schema that holds only after following a reference or choosing a branch is none that a client
// could mirror before it sends the call.
TEST(header_params, references_and_branches_do_not_lead_to_an_annotation) {
    const std::string leaf = R"({"type":"string","x-mcp-header":"X"})";
    for (const std::string& schema : {
             R"({"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":)" + leaf + "}}",
             R"({"properties":{"a":{"$ref":"#d"}},"$defs":{"d":{"$anchor":"d","properties":{"b":)" +
                 leaf + "}}}}",
             R"({"properties":{"a":{"anyOf":[)" + leaf + R"(,{"type":"null"}]}}})",
             R"({"unevaluatedProperties":)" + leaf + "}",
             R"({"dependentSchemas":{"a":{"properties":{"b":)" + leaf + "}}}}",
             R"({"properties":{"a":{"contentSchema":)" + leaf + "}}}",
             std::string(R"({"properties":{"a":{"$ref":"#/$defs/d","x-mcp-header":"X"}},
                 "$defs":{"d":{"type":"string"}}})"),
             std::string(
                 R"({"properties":{"a":{"x-mcp-header":"X","anyOf":[{"type":"string"}]}}})"),
         }) {
        EXPECT_NE(header_fault(schema), "") << schema;
    }
    EXPECT_EQ(header_fault(R"({"properties":{"a":{"type":"string","x-mcp-header":"X",
        "$ref":"#/$defs/d"}},"$defs":{"d":{"minLength":1}}})"),
              "");
}

}  // namespace
}  // namespace pillion::schema_check
