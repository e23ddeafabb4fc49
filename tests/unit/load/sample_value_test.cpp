// Goal: what is made up keeps its schema, whatever the seed, and the same seed makes the same.
// Method: the product's validator judges.

#include "bench/load/sample_value.hpp"

#include <set>

#include <gtest/gtest.h>

#include "unit/schema/checked.hpp"

namespace pillion::load {
namespace {

std::optional<std::string> sample(const char* schema, std::uint64_t seed = 1) {
    const auto parsed = json::document::parse(schema);
    EXPECT_TRUE(parsed) << schema;
    return sample_value(parsed->root(), seed);
}

TEST(sample_value, keeps_the_schema) {
    for (const char* const schema : {
             R"({"type":"object"})",
             R"({"type":"object","properties":{"a":{"type":"string","minLength":20,"maxLength":21},
                 "b":{"type":"integer","minimum":-5,"maximum":-3},"c":{"type":"boolean"}},
                 "required":["a","b"],"additionalProperties":false})",
             R"({"type":"object","required":["x"]})",
             R"({"type":"array","items":{"type":"number","multipleOf":0.25},"minItems":2,
                 "maxItems":4})",
             R"({"type":"number","exclusiveMinimum":1,"exclusiveMaximum":2})",
             // Between the halves that are taken otherwise.
             R"({"type":"number","minimum":0.1,"maximum":0.4})",
             R"({"type":"number","exclusiveMinimum":0.6,"exclusiveMaximum":0.9})",
             R"({"type":"number","exclusiveMinimum":0.1,"maximum":0.3})",
             R"({"type":"number","minimum":0.3,"maximum":0.3})",
             R"({"type":"number","maximum":-0.3})",
             R"({"type":"integer","multipleOf":7,"minimum":15,"maximum":30})",
             R"({"enum":["a",1,null]})",
             R"({"const":{"a":[1]}})",
             R"({"type":["integer","null"]})",
             R"({"type":"string","format":"date-time"})",
             R"({"anyOf":[{"type":"string"},{"type":"integer"}]})",
             R"({"$ref":"#/$defs/p","$defs":{"p":{"type":"object","properties":{
                 "q":{"type":"string"}},"required":["q"]}}})",
             R"({"type":"object","properties":{"when":{"type":"string","examples":["now"]}}})",
             R"({"oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]})",
         }) {
        const schema_check::checked judge(schema);
        for (std::uint64_t seed = 0; seed < 50; ++seed) {
            const std::optional<std::string> made = sample(schema, seed);
            ASSERT_TRUE(made) << schema;
            EXPECT_EQ(made, sample(schema, seed)) << schema;
            EXPECT_TRUE(judge(*made).ok) << schema << " " << *made;
        }
    }
}

TEST(sample_value, seeds_differ) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        seen.insert(sample(R"({"type":"string"})", seed).value());
    }
    EXPECT_GT(seen.size(), 15U);
}

// The first attempt may be wrong where one part of a schema does not know of another.
TEST(sample_value, tries_again) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto made =
            sample(R"({"type":"integer","minimum":0,"maximum":3,"not":{"const":1}})", seed);
        ASSERT_TRUE(made);
        EXPECT_NE(*made, "1");
    }
}

TEST(sample_value, gives_up_where_it_must) {
    for (const char* const schema : {
             R"({"type":"string","pattern":"^[A-Z]{3}$"})",
             R"({"$ref":"https://example.com/other"})",
             R"({"$ref":"#"})",
             R"({"type":"integer","minimum":3,"maximum":2})",
             R"({"type":"number","minimum":0.4,"maximum":0.1})",
             R"({"type":"number","multipleOf":0.5,"minimum":0.1,"maximum":0.4})",
             R"({"type":"string","minLength":5,"maxLength":2})",
             R"({"type":"array","minItems":100000000,"items":{}})",
             // A quarter of a million: each list is allowed, and all of them took what memory there
             // was.
             R"({"type":"array","minItems":62,"items":{"type":"array","minItems":62,"items":{
                 "type":"array","minItems":62,"items":{"type":"string","minLength":20}}}})",
             R"({"type":"strange"})",
             "false",
         }) {
        EXPECT_EQ(sample(schema), std::nullopt) << schema;
    }
}

// A pattern that RE2 does not have, in a property that needs not be there: nobody judged what was
// made, and "anyOf" was not kept.
TEST(sample_value, a_schema_that_nobody_can_judge_is_refused) {
    const auto parsed = json::document::parse(
        R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string",
            "pattern":"^(?=.*[A-Z]).{8,}$"}},"anyOf":[{"required":["a"]},{"required":["b"]}]})");
    ASSERT_TRUE(parsed);
    std::uint64_t seed = 1;
    std::string fault;
    EXPECT_EQ(sample_value(parsed->root(), seed), std::nullopt);
    EXPECT_EQ(sample_value(parsed->root(), seed, &fault), std::nullopt);
    EXPECT_NE(fault.find("(?="), std::string::npos) << fault;
}

}  // namespace
}  // namespace pillion::load
