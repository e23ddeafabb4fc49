// Malformed schemas are refused with the place and what is wrong.
#include <gtest/gtest.h>

#include "checked.hpp"

namespace pillion::schema_check {
namespace {

TEST(compile_fault, names_place_and_cause) {
    const std::pair<const char*, const char*> cases[] = {
        {"1", "#: a schema must be an object or a boolean"},
        {"null", "#: a schema must be an object or a boolean"},
        {"[]", "#: a schema must be an object or a boolean"},
        {R"({"type":1})", "#/type: must be a string or an array of strings"},
        {R"({"type":[]})", "#/type: must be a string or an array of strings"},
        {R"({"type":"int"})", "#/type: is no JSON type"},
        {R"({"type":["string",1]})", "#/type: must name JSON types only"},
        {R"({"enum":{}})", "#/enum: must be an array"},
        {R"({"minimum":"1"})", "#/minimum: must be a number"},
        {R"({"exclusiveMaximum":true})", "#/exclusiveMaximum: must be a number"},
        {R"({"multipleOf":0})",
         "#/multipleOf: must be above 0 and have at most 18 significant digits"},
        {R"({"multipleOf":"x"})", "#/multipleOf: must be a number"},
        {R"({"minLength":-1})", "#/minLength: must be an integer that is not negative"},
        {R"({"maxLength":1.5})", "#/maxLength: must be an integer that is not negative"},
        {R"({"minItems":"1"})", "#/minItems: must be an integer that is not negative"},
        {R"({"maxItems":null})", "#/maxItems: must be an integer that is not negative"},
        {R"({"minProperties":-2})", "#/minProperties: must be an integer that is not negative"},
        {R"({"contains":true,"minContains":-1})",
         "#/minContains: must be an integer that is not negative"},
        {R"({"uniqueItems":1})", "#/uniqueItems: must be a boolean"},
        {R"({"required":"a"})", "#/required: must be an array of strings"},
        {R"({"required":["a",1]})", "#/required: must be an array of strings"},
        {R"({"properties":[]})", "#/properties: must be an object"},
        {R"({"properties":{"a/b":{"properties":{"c~":1}}}})",
         "#/properties/a~1b/properties/c~0: a schema must be an object or a boolean"},
        {R"({"properties":{"a":true,"a":true}})", "#/properties: declares a name twice"},
        {R"({"patternProperties":1})", "#/patternProperties: must be an object"},
        {R"({"additionalProperties":"no"})",
         "#/additionalProperties: a schema must be an object or a boolean"},
        {R"({"items":[true]})", "#/items: a schema must be an object or a boolean"},
        {R"({"prefixItems":{}})", "#/prefixItems: must be an array of schemas"},
        {R"({"prefixItems":[true,1]})", "#/prefixItems/1: a schema must be an object or a boolean"},
        {R"({"anyOf":[]})", "#/anyOf: must be an array of at least one schema"},
        {R"({"allOf":{}})", "#/allOf: must be an array of at least one schema"},
        {R"({"oneOf":[true,{"type":"x"}]})", "#/oneOf/1/type: is no JSON type"},
        {R"({"not":0})", "#/not: a schema must be an object or a boolean"},
        {R"({"if":true,"then":3})", "#/then: a schema must be an object or a boolean"},
        {R"({"dependentRequired":{"a":1}})", "#/dependentRequired: must be an array of strings"},
        {R"({"dependentSchemas":{"a":1}})",
         "#/dependentSchemas/a: a schema must be an object or a boolean"},
        {R"({"pattern":1})", "#/pattern: must be a string"},
        {R"({"description":{}})", "#/description: must be a string"},
        {R"({"$ref":1})", "#/$ref: must be a string"},
        {R"({"$ref":"#/$defs/none"})", "#/$ref: refers to nothing in the schema"},
        {R"({"$ref":"#/$defs/%2"})", "#/$ref: has a malformed escape"},
        {R"({"$ref":"#anchor"})", "#/$ref: refers to an anchor that is not there"},
        {R"({"$dynamicRef":"#anchor"})", "#/$dynamicRef: refers to an anchor that is not there"},
        {R"({"properties":{"a":{"$ref":"https://example.com/s.json"}}})",
         "#/properties/a/$ref: refers to https://example.com/s.json, which is not among the given "
         "documents; none is fetched"},
        {R"({"$id":"https://x.test/a/b","$ref":"../other.json#/a"})",
         "#/$ref: refers to https://x.test/other.json, which is not among the given documents; "
         "none "
         "is fetched"},
        {R"({"$ref":"#/title","title":"x"})", "#/title: a schema must be an object or a boolean"},
        {R"({"properties":{"a":{"$id":"x","$ref":"#"}}})",
         "#/properties/a: refers to itself without end"},
        {R"({"$schema":"https://json-schema.org/draft/2019-09/schema"})",
         "#/$schema: the dialect https://json-schema.org/draft/2019-09/schema is not supported: "
         "known are 2020-12, draft-07 and metaschemas that are given along"},
        {R"({"properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}})",
         "#/properties/a/$schema: is allowed only at the root of a schema or beside an $id"},
        {R"-({"pattern":"(?=a)"})-",
         "#/pattern: the pattern (?=a) uses look-around, which RE2 does not have"},
        {R"-({"patternProperties":{"(a)\\1":true}})-",
         "#/patternProperties/(a)\\1: the pattern (a)\\1 uses a back-reference, which RE2 does not "
         "have"},
        {R"-({"pattern":"(a"})-", "#/pattern: the pattern (a has a group without an end"},
    };
    for (const auto& [schema, fault] : cases) {
        EXPECT_EQ(fault_of(schema), fault) << schema;
    }
}

TEST(compile_fault, a_schema_that_applies_itself_without_end_is_refused) {
    for (const char* schema :
         {R"({"$ref":"#"})", R"({"allOf":[{"$ref":"#"}]})", R"({"not":{"$ref":"#"}})",
          R"({"if":{"$ref":"#"}})", R"({"if":true,"else":{"anyOf":[{"$ref":"#"}]}})",
          R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"oneOf":[{"$ref":"#/$defs/a"}]}},
              "properties":{"x":{"$ref":"#/$defs/a"}}})",
          R"({"dependentSchemas":{"a":{"$ref":"#"}}})"}) {
        EXPECT_NE(fault_of(schema).find("refers to itself without end"), std::string::npos)
            << schema;
    }
    EXPECT_EQ(fault_of(R"({"items":{"$ref":"#"},"properties":{"a":{"$ref":"#"}}})"), "");
}

TEST(compile_fault, unknown_keywords_and_dialect_annotations_are_kept) {
    EXPECT_EQ(fault_of(R"({"x-own":1,"$comment":"c","examples":[1],"deprecated":true,
        "unevaluatedProperties":false,"format":"email","$anchor":"a","contentEncoding":"base64"})"),
              "");
}

}  // namespace
}  // namespace pillion::schema_check
