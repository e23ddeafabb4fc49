// Descriptions that want to take long, or much memory.
#include <gtest/gtest.h>

#include "sidecar/openapi_schema.hpp"
#include "unit/sidecar/imported.hpp"

namespace pillion::sidecar {
namespace {

using namespace testing;

std::string repeated(std::string_view text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) {
        out += text;
    }
    return out;
}

std::string reference(std::size_t i) {
    return R"({"$ref":"#/components/schemas/S)" + std::to_string(i) + "\"}";
}

// Written out, the first would be 2^60 times the last.
TEST(openapi_hostile, references_that_double) {
    std::string schemas = R"("S60":{"type":"string"})";
    for (std::size_t i = 0; i < 60; ++i) {
        schemas += ",\"S" + std::to_string(i) + R"(":{"prefixItems":[)" + reference(i + 1) + "," +
                   reference(i + 1) + "]}";
    }
    const imported_tool tool =
        only_tool(with_body(reference(0), "{\"schemas\":{" + schemas + "}}", "3.1.0"));
    EXPECT_LT(tool.input_json.size(), 10'000U);
}

// Neither the stack nor the depth of the text follows the chain.
TEST(openapi_hostile, a_long_chain_of_references) {
    std::string schemas = R"("S5000":{"type":"string"})";
    for (std::size_t i = 0; i < 5000; ++i) {
        schemas += ",\"S" + std::to_string(i) + R"(":{"items":)" + reference(i + 1) + "}";
    }
    const imported_tool tool =
        only_tool(with_body(reference(0), "{\"schemas\":{" + schemas + "}}"));
    EXPECT_LT(tool.input_json.size(), openapi_schema::bytes_max);
    EXPECT_NE(tool.input_json.find("$defs"), std::string::npos);
}

TEST(openapi_hostile, everything_refers_to_everything) {
    std::string all;
    for (std::size_t i = 0; i < 250; ++i) {
        all += (i > 0 ? "," : "") + reference(i);
    }
    std::string schemas;
    for (std::size_t i = 0; i < 250; ++i) {
        schemas += (i > 0 ? ",\"S" : "\"S") + std::to_string(i) + R"(":{"anyOf":[)" + all + "]}";
    }
    const std::string report =
        report_of(with_body(reference(0), "{\"schemas\":{" + schemas + "}}"));
    EXPECT_NE(report.find("too large"), std::string::npos);
}

TEST(openapi_hostile, depth) {
    const std::string deep = repeated(R"({"items":)", 100) + "{}" + repeated("}", 100);
    EXPECT_EQ(imported(with_body(deep)).tools.size(), 1U);
    openapi_import made;
    std::string fault;
    const std::string deeper = repeated(R"({"items":)", 200) + "{}" + repeated("}", 200);
    EXPECT_FALSE(import_openapi(with_body(deeper), {}, made, fault));
    EXPECT_FALSE(import_openapi(repeated("[", 100'000), {}, made, fault));
    // Deep schemas within each other become deeper than a text may be, and are not.
    const std::string end = repeated("}", 90);
    const std::string components = R"({"schemas":{"S0":)" + repeated(R"({"items":)", 90) +
                                   reference(1) + end + R"(,"S1":)" + repeated(R"({"items":)", 90) +
                                   "{}" + end + "}}";
    const openapi_import both = imported(with_body(reference(0), components));
    EXPECT_EQ(both.tools.size() + both.skipped, 1U);
}

TEST(openapi_hostile, sizes) {
    const std::string values = "1" + repeated(",1", 300'000);
    EXPECT_NE(report_of(with_body("{\"enum\":[" + values + "]}")).find("256 KiB"),
              std::string::npos);
    EXPECT_NE(report_of(with_body("{\"required\":[" + values + "]}")).find("skipped"),
              std::string::npos);
    EXPECT_NE(report_of(with_body("{\"type\":[" + values + "]}")).find("skipped"),
              std::string::npos);
    EXPECT_NE(
        report_of(with_body(R"({"const":")" + std::string(300'000, 'a') + "\"}")).find("256 KiB"),
        std::string::npos);
    const std::string name(2000, 'n');
    EXPECT_NE(report_of(with_body("{\"properties\":{\"" + name + "\":{}}}")).find("1024"),
              std::string::npos);
    std::string members = R"("a":1)";
    for (int i = 0; i < 300; ++i) {
        members += ",\"x" + std::to_string(i) + "\":1";
    }
    EXPECT_NE(report_of(with_body("{" + members + "}")).find("256 members"), std::string::npos);
    EXPECT_NE(report_of(one_operation("," + members)).find("very large"), std::string::npos);
    EXPECT_EQ(translated(R"({"pattern":")" + std::string(5000, 'a') + "\"}"), "{}");
    const imported_tool tool =
        only_tool(with_body(R"({"description":")" + std::string(100'000, 'd') + R"(","title":")" +
                            std::string(100'000, 't') + "\"}"));
    EXPECT_LT(tool.input_json.size(), 3000U);
}

TEST(openapi_hostile, parameters) {
    const std::string one = R"({"name":"a","in":"query"})";
    EXPECT_NE(report_of(one_operation(",\"parameters\":[" + one + repeated("," + one, 300) + "]"))
                  .find("256 parameters"),
              std::string::npos);
    // Which kind of value it is would take long to find out.
    const std::string many =
        R"({"anyOf":[)" + reference(0) + repeated("," + reference(0), 200) + "]}";
    const std::string text = one_operation(
        R"(,"parameters":[{"name":"a","in":"query","schema":{"$ref":"#/components/schemas/S0"}}])",
        "{\"schemas\":{\"S0\":" + many + "}}");
    EXPECT_NE(report_of(text).find("left out query parameter a"), std::string::npos);
}

// Short to write, long to compile.
TEST(openapi_hostile, patterns) {
    std::string properties;
    for (int i = 0; i < 100; ++i) {
        properties += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) +
                      R"(":{"pattern":"(a|b){900}c)" + std::to_string(i) + "\"}";
    }
    EXPECT_NE(report_of(with_body("{\"properties\":{" + properties + "}}")).find("too large"),
              std::string::npos);
    std::string names;
    for (int i = 0; i < 100; ++i) {
        names += (i > 0 ? ",\"(a|b){900}c" : "\"(a|b){900}c") + std::to_string(i) + "\":{}";
    }
    EXPECT_NE(report_of(with_body("{\"patternProperties\":{" + names + "}}", "{}", "3.1.0"))
                  .find("too large"),
              std::string::npos);
}

TEST(openapi_hostile, operations) {
    std::string paths;
    for (int i = 0; i < 10'001; ++i) {
        paths += (i > 0 ? ",\"/" : "\"/") + std::to_string(i) + R"(":{"get":{}})";
    }
    openapi_import made;
    std::string fault;
    EXPECT_FALSE(import_openapi(description("{" + paths + "}"), {}, made, fault));
    EXPECT_NE(fault.find("10000"), std::string::npos);
}

// Nothing of a description ends a line of the report.
TEST(openapi_hostile, lines_of_the_report) {
    const std::string text = description(
        R"({"/a\nb":{"get":{"operationId":"\u0000\n"}},"/c\r":{"$ref":"x\ny"},
            "/d":{"get":{"parameters":[{"name":"e\nf","in":"query\n"}]}}})");
    for (const import_note& note : imported(text).notes) {
        EXPECT_EQ(describe(note).find_first_of(std::string_view("\n\r\0", 3)), std::string::npos)
            << describe(note);
    }
}

TEST(openapi_hostile, every_truncation) {
    const std::string whole = description(
        R"({"/a/{b}":{"get":{"operationId":"x","parameters":[{"name":"b","in":"path",
            "schema":{"$ref":"#/components/schemas/S"}}]},
            "post":{"requestBody":{"content":{"application/json":{"schema":
            {"properties":{"a":{"$ref":"#/components/schemas/S"}}}}}}}}})",
        R"({"schemas":{"S":{"type":"string","nullable":true,"pattern":"^\\w$"}}})");
    EXPECT_EQ(imported(whole).tools.size(), 2U);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        openapi_import made;
        std::string fault;
        EXPECT_FALSE(import_openapi(whole.substr(0, size), {}, made, fault)) << size;
        EXPECT_NE(fault, "") << size;
    }
}

// Copies a value, but for the one that is `left` values behind its beginning.
void copy_but_one(json::view from, std::size_t& left, std::string_view other, json::builder& to) {
    if (left-- == 0) {
        to.raw(other);
    } else if (from.is_object()) {
        to.begin_object();
        for (const json::member m : from.members()) {
            to.key(m.key);
            copy_but_one(m.value, left, other, to);
        }
        to.end_object();
    } else if (from.is_array()) {
        to.begin_array();
        for (const json::view one : from.elements()) {
            copy_but_one(one, left, other, to);
        }
        to.end_array();
    } else {
        to.value(from);
    }
}

// Each value in turn is of another kind than anybody expects.
TEST(openapi_hostile, every_value_of_another_kind) {
    const auto whole = json::document::parse(description(
        R"({"/a/{b}":{"parameters":[],"get":{"operationId":"x","tags":["t"],"parameters":[{"name":
            "b","in":"path","schema":{"type":"array","enum":[1],"items":{"minimum":2}}}]},
            "put":{"responses":{"200":{"content":{"application/json":{}}}},"requestBody":
            {"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S"}}}},
            "servers":[{"url":"/","variables":{"a":{"default":"b"}}}]},"post":{"requestBody":
            {"content":{"application/x-www-form-urlencoded":{"schema":{"properties":
            {"a":{"type":"string"}}}}}}}}})",
        R"({"schemas":{"S":{"allOf":[{"required":["a"]}],"properties":{"p":{"pattern":"a",
            "nullable":true,"minimum":1,"exclusiveMinimum":true}},"discriminator":{}}}})"));
    std::size_t total = 0;
    for (const std::string other : {"null", "7", "\"s\"", "[]", "{}", "[[]]", "true"}) {
        std::size_t left = 0;
        for (std::size_t at = 0; left == 0; ++at) {
            json::builder text;
            left = at;
            copy_but_one(whole->root(), left, other, text);
            // Below zero as soon as one was replaced.
            left = left > at ? 0 : 1;
            openapi_import made;
            std::string fault;
            const bool good = import_openapi(text.text(), {}, made, fault);
            EXPECT_EQ(good, fault.empty()) << text.text();
            ++total;
        }
    }
    EXPECT_GT(total, 7U * 50);
}

}  // namespace
}  // namespace pillion::sidecar
