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

TEST(request_meta, each_name_has_its_place_alone_and_among_all) {
    std::string everything = R"({"x":{"progressToken":9},"_meta":{)";
    for (const named& one : names) {
        const auto doc =
            json::document::parse(R"({"_meta":{")" + std::string(one.key) + R"(":null}})");
        const request_meta meta = request_meta::of(doc->root());
        for (const named& other : names) {
            EXPECT_EQ((meta.*other.slot).exists(), &other == &one) << one.key << other.key;
        }
        EXPECT_EQ(meta.modern(), one.modern) << one.key;
        everything += "\"" + std::string(one.key) + "\":\"" + one.key + "\",";
    }
    const auto doc = json::document::parse(everything + R"("last":1}})");
    const request_meta meta = request_meta::of(doc->root());
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
            EXPECT_FALSE((request_meta::of(doc->root()).*one.slot).exists()) << other;
        }
    }
}

TEST(request_meta, last_of_two_counts_and_what_is_no_object_has_no_members) {
    const auto twice = json::document::parse(R"({"_meta":{"progressToken":1,"progressToken":2}})");
    EXPECT_EQ(request_meta::of(twice->root()).progress_token.i64(), 2);
    for (const char* text : {"{}", "[]", R"({"_meta":{}})", R"({"_meta":[]})", R"({"_meta":"x"})",
                             R"({"_meta":{"io.modelcontextprotocol/other":1}})"}) {
        const auto doc = json::document::parse(text);
        EXPECT_FALSE(request_meta::of(doc->root()).modern()) << text;
    }
    EXPECT_FALSE(request_meta::of({}).modern());
    EXPECT_FALSE(request_meta::of({}).all.exists());
}

}  // namespace
}  // namespace pillion::mcp::testing
