// config_schema: the published schema and the reader give the same verdict on every key.
#include "app/config_schema.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/config_keys_tools.hpp"
#include "unit/app/config_cases.hpp"
#include "unit/schema/checked.hpp"

namespace pillion::app {
namespace {

using schema_check::checked;
using testing::config_case;

// The schema of a table of keys, and the reader of it, asked the same.
struct both {
    config_case c;
    checked schema{config_schema(c.keys, "test")};

    bool schema_takes(const std::string& json) const { return schema(json).ok; }
    bool reader_takes(const std::string& json) { return c.read(json).faults.empty(); }
};

std::string document(const config_key& key, const std::string& value) {
    return "{\"" + key.section + "\":{\"" + key.name + "\":" + value + "}}";
}

// JSON values of all types, and texts of all forms.
std::vector<std::string> candidates(const config_key& key) {
    std::vector<std::string> all = {"null",
                                    "true",
                                    "false",
                                    "0",
                                    "1",
                                    "2",
                                    "-1",
                                    "1.5",
                                    "1.0",
                                    "1e3",
                                    "256",
                                    "257",
                                    "65535",
                                    "65536",
                                    "1e30",
                                    "{}",
                                    "[]",
                                    "[1]",
                                    "[null]",
                                    "[[]]",
                                    "[\"a\"]",
                                    "[\"\"]",
                                    "\"\"",
                                    "\"a\"",
                                    "\"true\"",
                                    "\"1\"",
                                    "\"5\"",
                                    "\"30s\"",
                                    "\"0s\"",
                                    "\"500ms\"",
                                    "\"05s\"",
                                    "\"5d\"",
                                    "\"auto\"",
                                    "\"AUTO\"",
                                    "\"/a\"",
                                    "\"/a b\"",
                                    "\"a/\"",
                                    "\"/a?b\"",
                                    "\"99999999999ms\"",
                                    "\"9999h\"",
                                    "\"10000h\"",
                                    "\"1 s\"",
                                    "\"-1s\"",
                                    "\"30s \"",
                                    "\"null\"",
                                    "\"1e3\"",
                                    "\"127.0.0.1:1\"",
                                    "\"https://a.example\"",
                                    "{\"a\":\"b\"}",
                                    "{\"a\":1,\"b\":true}",
                                    "{\"a\":null}",
                                    "{\"a\":[]}",
                                    "\"2027-01-31\"",
                                    "\"2027-1-31\"",
                                    "\"/a/~1~0\"",
                                    "\"/a/~2\""};
    if (key.max > 0) {
        for (const std::int64_t n : {key.min, key.max, key.min - 1, key.max + 1}) {
            all.push_back(std::to_string(n));
        }
    }
    for (const std::string& word : key.words) {
        all.push_back("\"" + word + "\"");
        all.push_back("[\"" + word + "\"]");
        all.push_back("\"" + word + "x\"");
    }
    return all;
}

TEST(config_schema, schema_and_reader_agree_on_every_key_and_type) {
    both b;
    std::size_t taken = 0;
    for (const config_key& key : b.c.keys) {
        std::size_t taken_here = 0;
        for (const std::string& value : candidates(key)) {
            const std::string json = document(key, value);
            const bool schema = b.schema_takes(json);
            const bool reader = b.reader_takes(json);
            // Addresses and origins have a grammar of their own, which the reader alone knows.
            const bool deeper = key.is_valid != nullptr && key.pattern.empty();
            if (!deeper) {
                EXPECT_EQ(schema, reader) << json << "\n" << b.c.said();
            }
            EXPECT_TRUE(schema || !reader) << json;
            taken_here += reader ? 1 : 0;
        }
        EXPECT_GT(taken_here, 0U) << key.path();
        taken += taken_here;
    }
    EXPECT_GT(taken, 100U);
}

// Every key of a mapping that stands between `before` and `after`, and of the mappings in it.
// NOLINTNEXTLINE(misc-no-recursion)
void agree_on(both& b, const config_table& keys, const std::string& before,
              const std::string& after) {
    for (const config_key& key : keys) {
        const std::string begin = before + "\"" + key.name + "\":";
        std::size_t taken = 0;
        for (const std::string& value : candidates(key)) {
            const std::string json = begin + value + after;
            const bool schema = b.schema_takes(json);
            b.reader_takes(json);
            // What a key needs beside it, or names elsewhere, the schema does not know.
            const bool reader = b.c.values.size() == b.c.keys.size() && b.c.faults.empty();
            if (key.is_valid == nullptr || !key.pattern.empty()) {
                EXPECT_EQ(schema, reader) << json << "\n" << b.c.said();
            }
            EXPECT_TRUE(schema || !reader) << json;
            taken += reader ? 1 : 0;
        }
        if (key.type == value_type::section) {
            agree_on(b, key.inside(key.name), begin + "{", "}" + after);
        }
        if (key.type == value_type::sections) {
            agree_on(b, key.inside(key.name), begin + "{", "}" + after);
            agree_on(b, key.inside(key.name), begin + "[{},{", "}]" + after);
        }
        EXPECT_TRUE(taken > 0 || key.is_valid != nullptr) << key.name;
    }
}

TEST(config_schema, schema_and_reader_agree_on_tools) {
    both b;
    agree_on(b, make_tool_table("tools"), R"({"tools":{"a b":{)", R"(},"c":null}})");
    for (const char* const value : {"1", "[]", "\"a\"", "{\"a\":1}", "{\"a\":{\"b\":1}}"}) {
        const std::string json = "{\"tools\":" + std::string(value) + "}";
        EXPECT_FALSE(b.schema_takes(json) || b.reader_takes(json)) << json;
    }
}

TEST(config_schema, schema_and_reader_agree_on_upstreams) {
    both b;
    agree_on(b, make_upstream_table("upstreams"), R"({"upstreams":{"a":{)", "}}}");
}

TEST(config_schema, schema_and_reader_agree_on_what_else_has_icons) {
    both b;
    for (const std::string kind : {"prompts", "resources", "openapi", "folders"}) {
        agree_on(b, make_named_table(kind, kind), "{\"" + kind + R"(":{"a":{)", "}}}");
    }
}

TEST(config_schema, addresses_and_origins) {
    both b;
    for (const char* const value :
         {"\":1\"", "[\"127.0.0.1:80\",\"unix:/s\",\"fd:3\"]", "[\"[::1]:1\"]"}) {
        const std::string json = R"({"http":{"listen":)" + std::string(value) + "}}";
        EXPECT_TRUE(b.schema_takes(json) && b.reader_takes(json)) << json << b.c.said();
    }
    for (const char* const value : {"\"*\"", "[\"null\",\"https://a.example:8443\"]"}) {
        const std::string json = R"({"http":{"allowed_origins":)" + std::string(value) + "}}";
        EXPECT_TRUE(b.schema_takes(json) && b.reader_takes(json)) << json << b.c.said();
    }
    for (const char* const json :
         {R"({"http":{"listen":":1","port":2}})", R"({"http":{"host":"a","listen":[":1"]}})"}) {
        EXPECT_FALSE(b.schema_takes(json) || b.reader_takes(json)) << json;
    }
}

TEST(config_schema, sizes_in_every_unit) {
    both b;
    std::size_t sizes = 0;
    for (const config_key& key : b.c.keys) {
        if (key.type != value_type::bytes) {
            continue;
        }
        ++sizes;
        const std::int64_t mib = 1 << 20;
        const std::int64_t fits = std::min(key.max, 64 * mib);
        std::vector<std::string> all = {std::to_string(fits), "\"" + std::to_string(fits) + "B\"",
                                        "\"" + std::to_string(fits / 1024) + "KiB\""};
        if (key.max >= 1024 * mib) {
            all.insert(all.end(), {"\"64MiB\"", "\"1GiB\""});
        }
        for (const std::string& good : all) {
            const std::string json = document(key, good);
            EXPECT_TRUE(b.schema_takes(json) && b.reader_takes(json)) << json << b.c.said();
        }
        for (const char* const bad : {"\"64\"", "\"64MB\"", "\"064MiB\"", "\"64 MiB\"", "\"0MiB\"",
                                      "\"1000GiB\"", "\"-1MiB\"", "1.5", "0"}) {
            const std::string json = document(key, bad);
            EXPECT_FALSE(b.schema_takes(json) || b.reader_takes(json)) << json;
        }
    }
    EXPECT_GT(sizes, 1U);
}

TEST(config_schema, a_variable_may_stand_for_every_value) {
    both b;
    for (const config_key& key : b.c.keys) {
        if (!key.fallback.empty()) {
            b.c.variables["X"] = key.fallback;
            const std::string json = document(key, "\"${X}\"");
            EXPECT_TRUE(b.schema_takes(json)) << json;
            EXPECT_TRUE(b.reader_takes(json)) << json << b.c.said();
        }
    }
}

TEST(config_schema, both_refuse_what_is_not_there) {
    both b;
    for (const char* const json :
         {R"({"nothing":{}})", R"({"http":{"nothing":1}})", R"({"options":{"hidden":true}})",
          R"({"http":[]})", R"({"http":1})", R"({"log":"x"})", R"([])", R"("x")", R"(1)",
          R"({"$schema":1})", R"({"port":1})", R"({"HTTP":{}})"}) {
        EXPECT_FALSE(b.schema_takes(json)) << json;
        EXPECT_FALSE(b.reader_takes(json)) << json;
    }
    for (const char* const json : {"null", "{}", R"({"http":null})",
                                   R"({"options":{"no_ignore":true}})", R"({"$schema":"x"})"}) {
        EXPECT_TRUE(b.schema_takes(json)) << json;
        EXPECT_TRUE(b.reader_takes(json)) << json << b.c.said();
    }
}

TEST(config_schema, every_default_is_a_value_of_its_key) {
    config_case c;
    for (const config_key& key : c.keys) {
        config_value value;
        if (!key.fallback.empty()) {
            EXPECT_TRUE(parse_value(key, key.fallback, value)) << key.path();
        }
        EXPECT_FALSE(key.help.empty() && key.own == nullptr) << key.path();
    }
}

}  // namespace
}  // namespace pillion::app
