// What is read of `_meta`, in one pass.
#include "mcp/request_meta.hpp"

#include <string>

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::mcp::testing {
namespace {

struct named {
    const char* key;
    json::view request_meta::* slot;
    bool modern;
};

constexpr named names[] = {
    {"io.modelcontextprotocol/protocolVersion", &request_meta::version, true},
    {"io.modelcontextprotocol/clientCapabilities", &request_meta::capabilities, true},
    {"io.modelcontextprotocol/clientInfo", &request_meta::client_info, true},
    {"io.modelcontextprotocol/logLevel", &request_meta::log_level, true},
    {"pillion/timeoutMs", &request_meta::timeout, false},
    {"progressToken", &request_meta::progress_token, false},
    {"traceparent", &request_meta::traceparent, false},
    {"tracestate", &request_meta::tracestate, false},
};

request_meta meta_of(json::view params) {
    return request_meta::of(request_params::of(params).meta);
}

TEST(request_meta, each_name_has_its_place_alone_and_among_all) {
    std::string everything = R"({"x":{"progressToken":9},"_meta":{)";
    for (const named& one : names) {
        const auto doc =
            json::document::parse(R"({"_meta":{")" + std::string(one.key) + R"(":null}})");
        const request_meta meta = meta_of(doc->root());
        for (const named& other : names) {
            EXPECT_EQ((meta.*other.slot).exists(), &other == &one) << one.key << other.key;
        }
        EXPECT_EQ(meta.modern(), one.modern) << one.key;
        everything += "\"" + std::string(one.key) + "\":\"" + one.key + "\",";
    }
    const auto doc = json::document::parse(everything + R"("last":1}})");
    const request_meta meta = meta_of(doc->root());
    for (const named& one : names) {
        EXPECT_EQ((meta.*one.slot).str(), one.key);
    }
    EXPECT_EQ(meta.all["last"].i64(), 1);
}

TEST(request_meta, neighbours_of_a_name_are_other_names) {
    for (const named& one : names) {
        const std::string name = one.key;
        for (std::size_t i = 0; i <= name.size(); ++i) {
            std::string other = name;
            if (i < name.size()) {
                other[i] = other[i] == 'z' ? 'y' : 'z';
            } else {
                other += "s";
            }
            const auto doc = json::document::parse(R"({"_meta":{")" + other + R"(":1}})");
            EXPECT_FALSE((meta_of(doc->root()).*one.slot).exists()) << other;
        }
    }
}

TEST(request_meta, last_of_two_counts_and_what_is_no_object_has_no_members) {
    const auto twice = json::document::parse(R"({"_meta":{"progressToken":1,"progressToken":2}})");
    EXPECT_EQ(meta_of(twice->root()).progress_token.i64(), 2);
    for (const char* text : {"{}", "[]", R"({"_meta":{}})", R"({"_meta":[]})", R"({"_meta":"x"})",
                             R"({"_meta":{"io.modelcontextprotocol/other":1}})"}) {
        const auto doc = json::document::parse(text);
        EXPECT_FALSE(meta_of(doc->root()).modern()) << text;
    }
    EXPECT_FALSE(meta_of({}).modern());
    EXPECT_FALSE(meta_of({}).all.exists());
}

struct named_param {
    const char* key;
    json::view request_params::* slot;
};
constexpr named_param params[] = {
    {"_meta", &request_params::meta},
    {"name", &request_params::name},
    {"uri", &request_params::uri},
    {"arguments", &request_params::arguments},
    {"requestState", &request_params::request_state},
    {"inputResponses", &request_params::input_responses},
};

TEST(request_params, each_name_has_its_place_and_neighbours_have_none) {
    for (const named_param& one : params) {
        const std::string key = one.key;
        const auto doc =
            json::document::parse(R"({"other":0,")" + key + R"(":1,")" + key + R"(":2,"last":3})");
        const request_params found = request_params::of(doc->root());
        for (const named_param& other : params) {
            EXPECT_EQ((found.*other.slot).exists(), &other == &one) << one.key << other.key;
        }
        EXPECT_EQ((found.*one.slot).i64(), 2) << key;
        for (std::size_t i = 0; i < key.size(); ++i) {
            std::string near = key;
            near[i] = near[i] == 'z' ? 'y' : 'z';
            const auto no = json::document::parse(R"({")" + near + R"(":1})");
            EXPECT_FALSE((request_params::of(no->root()).*one.slot).exists()) << near;
        }
    }
    for (const char* text : {"{}", "[]", "\"name\"", "null"}) {
        const auto doc = json::document::parse(text);
        EXPECT_FALSE(request_params::of(doc->root()).name.exists()) << text;
    }
    EXPECT_FALSE(request_params::of({}).name.exists());
}

}  // namespace
}  // namespace pillion::mcp::testing
