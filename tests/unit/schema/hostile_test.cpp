// Hostile schemas and values come to an end, with a name for it. How fast is not asserted here;
// bench/README has the figures. The budget of steps is what bounds them.
#include <gtest/gtest.h>

#include "checked.hpp"

namespace pillion::schema_check {
namespace {

std::string repeated(const std::string& text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) {
        out += text;
    }
    return out;
}

TEST(hostile, exponential_alternatives) {
    for (const std::string keyword : {"anyOf", "oneOf", "allOf"}) {
        std::string schema = R"({"$defs":{"e0":{"type":"null"})";
        for (int i = 1; i <= 60; ++i) {
            const std::string ref = R"({"$ref":"#/$defs/e)" + std::to_string(i - 1) + "\"}";
            schema +=
                ",\"e" + std::to_string(i) + "\":{\"" + keyword + "\":[" + ref + "," + ref + "]}";
        }
        const verdict got = checked(schema + R"(},"not":{"$ref":"#/$defs/e60"}})")("null");
        EXPECT_EQ(got.reason, keyword == "anyOf" ? "schema" : "limit") << keyword;
        EXPECT_EQ(checked(schema + R"(},"not":{"$ref":"#/$defs/e60"}})")("1").ok,
                  keyword == "allOf");
    }
}

TEST(hostile, a_reference_to_itself) {
    EXPECT_EQ(fault_of(R"({"$ref":"#"})"), "#: refers to itself without end");
    // A dynamic reference is only known to turn in a circle once it does.
    const verdict got = checked(
        R"({"$id":"https://x.test/","$dynamicAnchor":"n","anyOf":[{"$dynamicRef":"#n"}]})")("1");
    EXPECT_EQ(got.reason, "limit");
    EXPECT_EQ(got.message, "is nested too deeply to be checked");
}

TEST(hostile, regular_expressions_that_go_back_elsewhere) {
    const std::string many = "\"" + repeated("a", 900'000) + "!\"";
    for (const char* pattern : {"(a+)+$", "^(a|a)*$", "(a|aa)+$", "(.*a){10}$",
                                "^(([a-z])+.)+[A-Z]", "(x+x+)+y", "^(a?){50}a{50}$"}) {
        const verdict got = checked(R"({"pattern":")" + std::string(pattern) + R"("})")(many);
        EXPECT_FALSE(got.ok) << pattern;
        EXPECT_TRUE(got.reason == "pattern" || got.reason == "limit") << pattern;
    }
    EXPECT_EQ(fault_of(R"({"pattern":"((a{1000}){1000}){1000}"})"),
              "#/pattern: the pattern ((a{1000}){1000}){1000} repeats too much");
    EXPECT_NE(fault_of(R"({"pattern":"(\\p{L}\\p{Lu}{0,900}){0,900}"})"), "");
    // RE2 unfolded this for half a minute before it looked at its limit of memory.
    EXPECT_EQ(fault_of(R"({"pattern":"a9{3,440980}9"})"),
              "#/pattern: the pattern a9{3,440980}9 repeats too much");
    EXPECT_NE(fault_of(R"({"pattern":"((((a|b){4294967290}){4294967290}){4294967290}){8}"})"), "");
    std::string many_patterns = R"({"patternProperties":{)";
    for (int i = 0; i < 100; ++i) {
        many_patterns += "\"(a|b){1," + std::to_string(900 - i) + "}\":true,";
    }
    many_patterns.back() = '}';
    EXPECT_NE(fault_of(many_patterns + "}").find("the patterns are too large together"),
              std::string::npos);
    EXPECT_EQ(
        fault_of("{\"pattern\":\"" + repeated("(", 300) + repeated(")", 300) + "\"}").substr(0, 10),
        "#/pattern:");
}

TEST(hostile, counts_beyond_all_memory) {
    EXPECT_TRUE(checked(R"({"maxLength":4294967296})")(R"("a")").ok);
    EXPECT_FALSE(checked(R"({"minLength":4294967296})")(R"("a")").ok);
    EXPECT_FALSE(checked(R"({"minItems":1e30})")("[]").ok);
    EXPECT_TRUE(checked(R"({"pattern":"^.{0,4000000000}$"})")(R"("abc")").ok);
    EXPECT_FALSE(checked(R"({"pattern":"^a{4000000000}$"})")(R"("abc")").ok);
}

TEST(hostile, a_hundred_thousand_names) {
    std::string value = "{";
    for (int i = 0; i < 100'000; ++i) {
        value += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
    }
    value += "}";
    EXPECT_EQ(checked(R"({"additionalProperties":false})").all(value).find('\n') > 0, true);
    EXPECT_TRUE(checked(R"({"patternProperties":{"^[0-9]+$":{"type":"integer"}},
        "additionalProperties":false})")(value)
                    .ok);
    EXPECT_TRUE(checked(R"({"unevaluatedProperties":{"const":1}})")(value).ok);
    // Ten thousand names that are all needed, and as many that each need another.
    std::string required = R"({"required":["0")";
    std::string dependent = R"({"dependentRequired":{"0":["1"])";
    for (int i = 1; i < 10'000; ++i) {
        required += ",\"" + std::to_string(i) + "\"";
        dependent += ",\"" + std::to_string(i) + "\":[\"0\"]";
    }
    EXPECT_EQ(checked(required + "]}")(value).message, "takes too long to be checked");
    EXPECT_EQ(checked(dependent + "}}")(value).message, "takes too long to be checked");
    EXPECT_TRUE(checked(required + "]}")(R"({"properties":1})").path == "/0");
    // The same names as a schema.
    std::string schema = R"({"properties":{)";
    for (int i = 0; i < 100'000; ++i) {
        schema += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":{}";
    }
    EXPECT_EQ(fault_of(schema + "}}"), "#: there are too many subschemas");
}

// Rows of `columns` + 1 members whose last differs, from `first` on.
std::string rows(int count, int columns, const std::string& name, const std::string& text) {
    std::string one = "{";
    for (int i = 0; i < columns; ++i) {
        one += "\"" + name + std::to_string(i) + "\":\"" + text + "\",";
    }
    std::string value = "[";
    for (int i = 0; i < count; ++i) {
        value += one + "\"z\":" + std::to_string(i) + "},";
    }
    value.back() = ']';
    return value;
}

// Objects of more than 16 members were hashed by their names only: 240 rows of a table were all
// compared with each other, and refused.
TEST(hostile, rows_of_many_columns_are_told_apart) {
    const checked unique(R"({"uniqueItems":true})");
    EXPECT_TRUE(unique(rows(1500, 20, "k", "x")).ok);
    std::string twice = rows(1500, 20, "k", "x");
    twice.back() = ',';
    // The first once more, in another order and with a name that a later one hides.
    twice += "{\"z\":7,\"z\":0";
    for (int i = 19; i >= 0; --i) {
        twice += ",\"k" + std::to_string(i) + "\":\"x\"";
    }
    EXPECT_EQ(unique(twice + "}]").keyword, "uniqueItems");
    // Long names with one beginning are read by each comparison: a large object is not for free.
    EXPECT_EQ(unique(rows(300, 60, std::string(1000, 'n'), "x")).message,
              "takes too long to be checked");
}

// The square of a program's size was the price of each byte: "Mary-Jane O'Neill" was refused.
TEST(hostile, large_patterns_take_short_texts) {
    const std::string trimmed = R"({"pattern":"^\\S(.{0,498}\\S)?$"})";
    const std::string people = R"({"pattern":"^[\\p{L}' -]{1,50}$"})";
    EXPECT_TRUE(checked(people)("\"Mary-Jane O'Neill\"").ok);
    EXPECT_TRUE(checked(people)("\"" + repeated("\xD0\xB6", 50) + "\"").ok);
    EXPECT_EQ(checked(people)("\"" + repeated("\xD0\xB6", 51) + "\"").reason, "pattern");
    EXPECT_TRUE(checked(trimmed)("\"" + repeated("a", 500) + "\"").ok);
    EXPECT_TRUE(checked(trimmed)("\"" + repeated("\xE4\xB8\xAD", 500) + "\"").ok);
    EXPECT_EQ(checked(trimmed)("\"" + repeated("a", 501) + "\"").reason, "pattern");
    std::string mails = "[";
    for (int i = 0; i < 4000; ++i) {
        mails += "\"ada" + std::to_string(i) + "@example.org\",";
    }
    mails.back() = ']';
    const std::string label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
    EXPECT_TRUE(checked(R"({"items":{"pattern":"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@)" + label +
                        R"((?:\\.)" + label + R"()*$"}})")(mails)
                    .ok);
}

// A small program whose automaton never fits was charged next to nothing, and took 0.2 s.
TEST(hostile, what_a_small_pattern_takes_is_charged) {
    std::string text;
    std::uint32_t random = 1;
    for (int i = 0; i < 900'000; ++i) {
        random = random * 1664525 + 1013904223;
        text += (random >> 31) != 0 ? 'a' : 'b';
    }
    EXPECT_EQ(checked(R"({"pattern":"(a|b)*a(a|b){20}c"})")("\"" + text + "\"").reason, "limit");
}

TEST(hostile, deep_values_and_schemas) {
    const std::string open = repeated("[", 120);
    const std::string close = repeated("]", 120);
    EXPECT_TRUE(checked(R"({"items":{"$ref":"#"},"type":"array"})")(open + close).ok);
    EXPECT_TRUE(checked(R"({"unevaluatedItems":{"$ref":"#"}})")(open + close).ok);
    const std::string nots = repeated(R"({"not":)", 100) + "true" + repeated("}", 100);
    EXPECT_TRUE(checked(nots)("1").ok);
}

TEST(hostile, a_long_name_stays_out_of_the_path) {
    const std::string name(100'000, 'n');
    const verdict got =
        checked(R"({"additionalProperties":{"items":{"type":"null"}}})")("{\"" + name + "\":[1]}");
    EXPECT_EQ(got.keyword, "type");
    EXPECT_EQ(got.path, "");
}

}  // namespace
}  // namespace pillion::schema_check
