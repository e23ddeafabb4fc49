// Every keyword: one value that it lets through, one that it refuses, and what it says then.
#include <gtest/gtest.h>

#include "checked.hpp"

namespace pillion::schema_check {
namespace {

// `bad` is let through, too, where nothing is said.
struct keyword_case {
    const char* schema;
    const char* good;
    const char* bad;
    const char* said;  // "path keyword: message"
};

void run(const std::vector<keyword_case>& cases, const compile_options& how = {}) {
    for (const keyword_case& c : cases) {
        const checked check(c.schema, how);
        EXPECT_EQ(check.all(c.good), "") << c.schema;
        EXPECT_EQ(check.all(c.bad), c.said[0] == '\0' ? std::string() : std::string(c.said) + "\n")
            << c.schema;
    }
}

TEST(keyword, of_any_value) {
    run({
        {R"({"type":"string"})", R"("a")", "1", " type: has the wrong type; expected string"},
        {R"({"type":["integer","null"]})", "1.0", "1.5",
         " type: has the wrong type; expected null or integer"},
        {R"({"type":"number"})", "1.5", "{}", " type: has the wrong type; expected number"},
        {R"({"type":["object","array","boolean"]})", "[]", R"("a")",
         " type: has the wrong type; expected boolean or object or array"},
        {R"({"enum":["a",1,null,{"b":[]}]})", R"({"b":[]})", R"("b")",
         " enum: is none of the allowed values: \"a\", 1, null, an object"},
        {R"({"const":[1,true]})", "[1.0,true]", "[1]",
         " const: is not the one allowed value: an array"},
    });
}

TEST(keyword, an_empty_enumeration_lets_nothing_through) {
    EXPECT_FALSE(checked(R"({"enum":[]})")("null").ok);
}

TEST(keyword, of_numbers_and_strings) {
    run({
        {R"({"minimum":1.5})", "1.5", "1.49", " minimum: is below the minimum 1.5"},
        {R"({"maximum":3})", R"("4")", "4", " maximum: is above the maximum 3"},
        {R"({"exclusiveMinimum":0})", "1e-9", "0", " exclusiveMinimum: is not above 0"},
        {R"({"exclusiveMaximum":1e2})", "99.999", "100", " exclusiveMaximum: is not below 1e2"},
        {R"({"multipleOf":0.01})", "1.23", "1.234", " multipleOf: is not a multiple of 0.01"},
        {R"({"minLength":2})", R"("\u00e9a")", R"("\ud83d\udc32")",
         " minLength: is too short; characters at least: 2"},
        {R"({"maxLength":2})", R"("\u00e9\u00e9")", R"("abc")",
         " maxLength: is too long; characters at most: 2"},
        {R"({"pattern":"^[a-z]+$"})", R"("abc")", R"("aBc")",
         " pattern: does not match the pattern ^[a-z]+$"},
    });
}

TEST(keyword, of_arrays) {
    run({
        {R"({"minItems":1})", "[1]", "[]", " minItems: has too few elements; at least: 1"},
        {R"({"maxItems":1})", "[1]", "[1,2]", " maxItems: has too many elements; at most: 1"},
        {R"({"uniqueItems":true})", "[1,\"1\"]", "[{\"a\":1},{\"a\":1.0}]",
         " uniqueItems: has equal elements"},
        {R"({"items":{"type":"null"}})", "[null]", "[null,1]",
         "/1 type: has the wrong type; expected null"},
        {R"({"prefixItems":[true,{"type":"null"}]})", "[1]", "[1,1,1]",
         "/1 type: has the wrong type; expected null"},
        {R"({"prefixItems":[true],"items":false})", "[1]", "[1,2]",
         "/1 items: is an element that is not allowed"},
        {R"({"contains":{"const":1}})", "[0,1]", "[0]",
         " contains: has too few or too many elements of the kind asked for; at least: 1"},
        {R"({"contains":{"const":1},"minContains":2,"maxContains":3})", "[1,1,0]", "[1,1,1,1]",
         " contains: has too few or too many elements of the kind asked for; at least: 2, at most: "
         "3"},
        {R"({"contains":false,"minContains":0})", "[1]", "[]", ""},
        {R"({"prefixItems":[true],"contains":{"type":"null"},"unevaluatedItems":false})",
         "[1,null]", "[1,null,2]", "/2 unevaluatedItems: is an element that is not allowed"},
    });
}

TEST(keyword, of_objects) {
    run({
        {R"({"minProperties":1})", R"({"a":1})", "{}",
         " minProperties: has too few properties; at least: 1"},
        {R"({"maxProperties":0})", "{}", R"({"a":1})",
         " maxProperties: has too many properties; at most: 0"},
        {R"({"required":["a","b"]})", R"({"b":1,"a":1})", R"({"b":1})", "/a required: is required"},
        {R"({"properties":{"a":{"type":"null"}}})", R"({"b":1})", R"({"a":1})",
         "/a type: has the wrong type; expected null"},
        {R"({"properties":{"a":false,"b":true}})", R"({"b":1})", R"({"a":1})",
         "/a additionalProperties: is not a known property; known: b"},
        {R"({"properties":{"a":true,"b":true},"additionalProperties":false})", R"({"b":1})",
         R"({"c":1})", "/c additionalProperties: is not a known property; known: a, b"},
        {R"({"patternProperties":{"^a":{"type":"null"}}})", R"({"b":1,"a":null})", R"({"ab":1})",
         "/ab type: has the wrong type; expected null"},
        {R"({"additionalProperties":{"type":"null"}})", R"({"b":null})", R"({"b":1})",
         "/b type: has the wrong type; expected null"},
        {R"({"propertyNames":{"maxLength":1}})", R"({"b":1})", R"({"bc":1})",
         "/bc propertyNames: has a name that is not allowed"},
        {R"({"dependentRequired":{"a":["b"]}})", R"({"b":1})", R"({"a":1})",
         "/b dependentRequired: is required together with a"},
        {R"({"dependentSchemas":{"a":{"maxProperties":1}}})", R"({"b":1,"c":1})",
         R"({"a":1,"c":1})", " maxProperties: has too many properties; at most: 1"},
        {R"({"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false})", R"({"a":1})",
         R"({"b":1})", "/b unevaluatedProperties: is not a known property"},
    });
}

TEST(keyword, that_combine_schemas) {
    run({
        {R"({"allOf":[{"minimum":1},{"maximum":2}]})", "1", "3",
         " maximum: is above the maximum 2"},
        {R"({"anyOf":[{"type":"string"},{"minimum":2}]})", "2", "1",
         " anyOf: satisfies none of the alternatives\n minimum: is below the minimum 2"},
        {R"({"oneOf":[{"minimum":1},{"maximum":2}]})", "0", "2",
         " oneOf: does not satisfy exactly one of the alternatives"},
        {R"({"not":{"type":"string"}})", "1", R"("a")", " not: is of a kind that is not allowed"},
        {R"({"if":{"minimum":5},"then":{"maximum":7},"else":{"const":0}})", "6", "8",
         " maximum: is above the maximum 7"},
        {R"({"if":{"minimum":5},"then":{"maximum":7},"else":{"const":0}})", "0", "1",
         " const: is not the one allowed value: 0"},
        {R"({"then":false,"else":false})", "1", "2", ""},
        {R"({"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}})", "null", "1",
         " type: has the wrong type; expected null"},
    });
}

TEST(keyword, of_draft_07) {
    compile_options how;
    how.draft7_by_default = true;
    run(
        {
            {R"({"items":[{"type":"null"}],"additionalItems":{"const":1}})", "[null,1]", "[null,2]",
             "/1 const: is not the one allowed value: 1"},
            {R"({"additionalItems":false})", "[1]", "[2]", ""},
            {R"({"dependencies":{"a":["b"]}})", R"({"b":1})", R"({"a":1})",
             "/b dependentRequired: is required together with a"},
            {R"({"dependencies":{"a":{"required":["c"]}}})", R"({"b":1})", R"({"a":1})",
             "/c required: is required"},
            {R"({"definitions":{"a":{"$id":"#n","type":"null"}},"$ref":"#n","maximum":1})", "null",
             "2", " type: has the wrong type; expected null"},
            // Keywords that came later are none here.
            {R"({"prefixItems":[false],"dependentRequired":{"a":["b"]},
                 "unevaluatedProperties":false,"contains":{"const":1},"minContains":9,
                 "$dynamicRef":"#x"})",
             R"({"a":1})", "[0]",
             " contains: has too few or too many elements of the kind asked for; at least: 1"},
        },
        how);
}

TEST(keyword, format_asserts_when_it_is_asked_to) {
    EXPECT_TRUE(checked(R"({"format":"ipv4"})")(R"("x")").ok);
    compile_options how;
    how.assert_formats = true;
    run({{R"({"format":"ipv4"})", R"("127.0.0.1")", R"("x")", " format: has not the format ipv4"},
         {R"({"format":"ipv4"})", "1", R"("")", " format: has not the format ipv4"},
         {R"({"format":"colour"})", R"("x")", R"("")", ""}},
        how);
}

}  // namespace
}  // namespace pillion::schema_check
