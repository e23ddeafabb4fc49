// The public JSON-Schema-Test-Suite for the keywords this engine asserts. What it leaves out is
// listed here by name; everything else must agree.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "checked.hpp"

namespace pillion::schema_check {
namespace {

// Groups that need more than this engine has.
const std::set<std::string> out_of_scope = {
    // Other documents: the meta-schema and resources found by $id or $anchor.
    "ref: remote ref, containing refs itself",
    "ref: Recursive references between schemas",
    "ref: refs with relative uris and defs",
    "ref: relative refs with absolute uris and defs",
    "ref: $id must be resolved against nearest parent, not just immediate parent",
    "ref: order of evaluation: $id and $ref",
    "ref: order of evaluation: $id and $anchor and $ref",
    "ref: order of evaluation: $id and $ref on nested schema",
    "ref: URN base URI with URN and anchor ref",
    "ref: URN ref with nested pointer ref",
    "ref: ref to if",
    "ref: ref to then",
    "ref: ref to else",
    "ref: ref with absolute-path-reference",
    "ref: Location-independent identifier",
    "ref: Reference an anchor with a non-relative URI",
    "ref: $ref prevents a sibling $id from changing the base uri",
    "ref: Location-independent identifier with base URI change in subschema",
    "defs: validate definition against metaschema",
    "definitions: validate definition against metaschema",
    // Regular expressions.
    "additionalProperties: additionalProperties being false does not allow other properties",
    "additionalProperties: non-ASCII pattern with additionalProperties",
    "properties: properties, patternProperties, additionalProperties interaction",
    "propertyNames: propertyNames validation with pattern",
    // unevaluatedProperties and unevaluatedItems.
    "ref: ref creates new scope when adjacent to keywords",
    "not: collect annotations inside a 'not', even if collection is disabled",
};

std::filesystem::path suite() {
    const char* const shared = std::getenv("PILLION_SHARED");
    const std::filesystem::path source = std::filesystem::path(__FILE__).parent_path();
    const std::filesystem::path base =
        shared != nullptr ? std::filesystem::path(shared) : source / "../../../../shared";
    return base / "data/JSON-Schema-Test-Suite/tests";
}

std::string text_of(json::view value) {
    json::builder out;
    out.value(value);
    return std::string(out.text());
}

struct tally {
    int passed = 0;
    int left_out = 0;
};

void run_group(const std::string& name, json::view group, tally& count) {
    if (out_of_scope.count(name + ": " + std::string(group["description"].str())) > 0) {
        ++count.left_out;
        return;
    }
    SCOPED_TRACE(name + ": " + std::string(group["description"].str()));
    const checked check(text_of(group["schema"]));
    for (const json::view test : group["tests"].elements()) {
        const verdict got = check(text_of(test["data"]));
        EXPECT_EQ(got.ok, test["valid"].boolean())
            << test["description"].str() << ' ' << got.keyword << ' ' << text_of(test["data"]);
        ++count.passed;
    }
}

tally run_file(const std::string& draft, const std::string& name) {
    tally count;
    std::ifstream in(suite() / draft / (name + ".json"), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    auto parsed = json::document::parse(text);
    EXPECT_TRUE(parsed) << name;
    for (const json::view group : parsed->root().elements()) {
        // Draft-07 cases carry no "$schema"; to us that means 2020-12.
        if (draft == "draft7" && group["schema"].is_object()) {
            std::string marked = R"({"$schema":"http://json-schema.org/draft-07/schema#")";
            for (const json::member m : group["schema"].members()) {
                json::builder one;
                one.begin_object().member(m.key, m.value).end_object();
                marked += "," + std::string(one.text().substr(1, one.text().size() - 2));
            }
            json::builder again;
            again.begin_object().member("description", group["description"]);
            again.key("schema").raw(marked + "}");
            again.member("tests", group["tests"]).end_object();
            auto copy = json::document::parse(again.text());
            run_group(name, copy->root(), count);
        } else {
            run_group(name, group, count);
        }
    }
    return count;
}

void run_draft(const std::string& draft, std::initializer_list<const char*> names, int at_least) {
    if (!std::filesystem::exists(suite())) {
        GTEST_SKIP() << "no JSON-Schema-Test-Suite (set PILLION_SHARED)";
    }
    tally all;
    for (const char* name : names) {
        const tally one = run_file(draft, name);
        all.passed += one.passed;
        all.left_out += one.left_out;
    }
    EXPECT_GE(all.passed, at_least);
    testing::Test::RecordProperty("cases", all.passed);
    testing::Test::RecordProperty("groups_left_out", all.left_out);
}

TEST(suite, draft_2020_12) {
    run_draft("draft2020-12",
              {"additionalProperties",
               "allOf",
               "anyOf",
               "boolean_schema",
               "const",
               "contains",
               "content",
               "default",
               "defs",
               "dependentRequired",
               "dependentSchemas",
               "enum",
               "exclusiveMaximum",
               "exclusiveMinimum",
               "format",
               "if-then-else",
               "infinite-loop-detection",
               "items",
               "maxContains",
               "maxItems",
               "maxLength",
               "maxProperties",
               "maximum",
               "minContains",
               "minItems",
               "minLength",
               "minProperties",
               "minimum",
               "multipleOf",
               "not",
               "oneOf",
               "prefixItems",
               "properties",
               "propertyNames",
               "ref",
               "required",
               "type",
               "uniqueItems",
               "optional/bignum",
               "optional/float-overflow"},
              900);
}

TEST(suite, draft_7) {
    run_draft("draft7",
              {"additionalItems",
               "additionalProperties",
               "allOf",
               "anyOf",
               "boolean_schema",
               "const",
               "contains",
               "default",
               "definitions",
               "dependencies",
               "enum",
               "exclusiveMaximum",
               "exclusiveMinimum",
               "format",
               "if-then-else",
               "infinite-loop-detection",
               "items",
               "maxItems",
               "maxLength",
               "maxProperties",
               "maximum",
               "minItems",
               "minLength",
               "minProperties",
               "minimum",
               "multipleOf",
               "not",
               "oneOf",
               "properties",
               "propertyNames",
               "ref",
               "required",
               "type",
               "uniqueItems"},
              700);
}

}  // namespace
}  // namespace pillion::schema_check
