// The schema builder: the exact text it makes, and that the text means what it says.
#include <gtest/gtest.h>

#include <pillion/schema.hpp>

#include "checked.hpp"

namespace pillion {
namespace {

TEST(fluent, writes_keywords_and_properties_in_order) {
    const schema s = object()
                         .required("city", string().min(1).max(80).about("City name"))
                         .optional("days", integer().min(1).max(14).default_json("3"))
                         .required("units", string().one_of({"metric", "imperial"}))
                         .about("Where");
    EXPECT_EQ(s.json(),
              R"({"type":"object","description":"Where","properties":{)"
              R"("city":{"type":"string","minLength":1,"maxLength":80,"description":"City name"},)"
              R"("days":{"type":"integer","minimum":1,"maximum":14,"default":3},)"
              R"("units":{"type":"string","enum":["metric","imperial"]}},)"
              R"("required":["city","units"],"additionalProperties":false})");
}

TEST(fluent, every_type_has_its_bounds) {
    EXPECT_EQ(number().min(-0.5).max(1e21).json(),
              R"({"type":"number","minimum":-0.5,"maximum":1e+21})");
    EXPECT_EQ(array(boolean()).min(1).max(2).json(),
              R"({"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":2})");
    EXPECT_EQ(object().open().min(1).json(), R"({"type":"object","minProperties":1})");
    EXPECT_EQ(object().json(), R"({"type":"object","additionalProperties":false})");
}

TEST(fluent, escapes_all_texts) {
    const schema s =
        object().required("a\"\n", string().title("\\").format("x").pattern("^\\d\"$"));
    EXPECT_EQ(s.json(), R"({"type":"object","properties":{"a\"\n":{"type":"string","title":"\\",)"
                        R"("format":"x","pattern":"^\\d\"$"}},"required":["a\"\n"],)"
                        R"("additionalProperties":false})");
    EXPECT_EQ(schema_check::fault_of(s.json()), "");
}

TEST(fluent, the_last_word_counts) {
    const schema s = object()
                         .required("a", string())
                         .optional("a", integer().min(1).min(2))
                         .optional("b", string())
                         .required("b", boolean());
    EXPECT_EQ(s.json(),
              R"({"type":"object","properties":{"a":{"type":"integer","minimum":2},)"
              R"("b":{"type":"boolean"}},"required":["b"],"additionalProperties":false})");
}

TEST(fluent, raw_is_published_as_written) {
    const std::string text = R"( { "type" : "object" } )";
    EXPECT_EQ(schema::raw(text).json(), text);
    EXPECT_EQ(array(schema::raw("true")).json(), R"({"type":"array","items":true})");
    EXPECT_EQ(string().header("City").keyword("x-y", "[1]").json(),
              R"({"type":"string","x-mcp-header":"City","x-y":[1]})");
}

TEST(fluent, what_it_writes_is_what_is_checked) {
    const schema_check::checked check(object()
                                          .required("n", integer().min(1).max(3))
                                          .optional("l", array(string().min(1)).max(2))
                                          .json());
    EXPECT_TRUE(check(R"({"n":3,"l":["a"]})").ok);
    EXPECT_EQ(check(R"({"n":4})").path, "/n");
    EXPECT_EQ(check(R"({})").reason, "required");
    EXPECT_EQ(check(R"({"n":1,"x":1})").reason, "unknown");
    EXPECT_EQ(check(R"({"n":1,"l":["a",""]})").path, "/l/1");
}

}  // namespace
}  // namespace pillion
