#include "sidecar/openapi_document.hpp"

#include <gtest/gtest.h>

#include "sidecar/openapi_servers.hpp"
#include "unit/sidecar/imported.hpp"

namespace pillion::sidecar {
namespace {

using testing::description;

openapi_document parsed(const std::string& text) {
    auto made = openapi_document::parse(text);
    EXPECT_TRUE(static_cast<bool>(made)) << text;
    return std::move(*made);
}

std::string fault_of(std::string_view text) {
    const auto made = openapi_document::parse(text);
    return made ? "" : made.error().detail;
}

TEST(openapi_document, versions) {
    EXPECT_TRUE(parsed(description("{}", "{}", "3.0.0")).old_schemas());
    EXPECT_FALSE(parsed(description("{}", "{}", "3.1.1")).old_schemas());
    EXPECT_FALSE(parsed(description("{}", "{}", "3.2.0")).old_schemas());
    EXPECT_FALSE(parsed("\xEF\xBB\xBF" + description("{}", "{}", "3.1.1")).old_schemas());
    EXPECT_NE(fault_of(R"({"swagger":"2.0","paths":{}})").find("convert"), std::string::npos);
    for (const std::string text :
         {"{}", "[]", R"({"openapi":"4.0.0","paths":{}})", R"({"openapi":"3.1.0"})",
          R"({"openapi":3.1,"paths":{}})", R"({"openapi":"3.0.3","paths":[]})", "", "{"}) {
        EXPECT_NE(fault_of(text), "") << text;
    }
}

TEST(openapi_document, the_dialect_of_its_schemas) {
    const std::string begin = R"({"openapi":"3.1.0","paths":{},"jsonSchemaDialect":")";
    EXPECT_EQ(fault_of(begin + R"(https://json-schema.org/draft/2020-12/schema"})"), "");
    EXPECT_EQ(fault_of(begin + R"(https://spec.openapis.org/oas/3.1/dialect/base"})"), "");
    EXPECT_NE(fault_of(begin + R"(http://json-schema.org/draft-07/schema#"})"), "");
}

TEST(openapi_document, references) {
    openapi_document one = parsed(description(
        R"({"/a~b/{c}":{"get":1}})", R"({"schemas":{"a b":[10,11],"%":true,"":{"x":null}}})"));
    std::string fault;
    EXPECT_EQ(one.find("#/paths/~1a~0b~1{c}/get", fault).num(), 1);
    EXPECT_EQ(one.find("#/paths/~1a~0b~1%7Bc%7D/get", fault).num(), 1);
    EXPECT_EQ(one.find("#/components/schemas/a%20b/1", fault).num(), 11);
    EXPECT_TRUE(one.find("#/components/schemas/%25", fault).boolean());
    EXPECT_TRUE(one.find("#/components/schemas//x", fault).is_null());
    EXPECT_TRUE(one.find("#", fault).is_object());
    EXPECT_EQ(fault, "");
    for (const std::string reference :
         {"#/components/schemas/none", "#/components/schemas/a%20b/2",
          "#/components/schemas/a%20b/01", "#/components/schemas/a%20b/-", "other.json#/components",
          "https://x.test/a.json", "#anchor", "#/%", "#/components/%zz", "/components", ""}) {
        fault.clear();
        EXPECT_FALSE(one.find(reference, fault).exists()) << reference;
        EXPECT_NE(fault, "") << reference;
    }
    EXPECT_FALSE(one.find("#/" + std::string(3000, 'a'), fault).exists());
}

TEST(openapi_document, references_into_large_containers) {
    std::string members;
    std::string list;
    for (int i = 0; i < 100; ++i) {
        members += (i > 0 ? ",\"n" : "\"n") + std::to_string(i) + "\":" + std::to_string(i);
        list += (i > 0 ? "," : "") + std::to_string(i);
    }
    openapi_document one =
        parsed(description("{}", "{" + members + ",\"n7\":700,\"list\":[" + list + "]}"));
    std::string fault;
    EXPECT_EQ(one.find("#/components/n99", fault).num(), 99);
    EXPECT_EQ(one.find("#/components/n7", fault).num(), 700);
    EXPECT_EQ(one.find("#/components/list/64", fault).num(), 64);
    EXPECT_FALSE(one.find("#/components/list/100", fault).exists());
    EXPECT_FALSE(one.find("#/components/n100", fault).exists());
}

TEST(openapi_document, a_reference_to_a_reference) {
    std::string chain = R"("end":{"v":1})";
    for (int i = 0; i < 20; ++i) {
        const std::string next = i == 0 ? "end" : "r" + std::to_string(i - 1);
        chain += ",\"r" + std::to_string(i) + R"(":{"$ref":"#/components/)" + next + "\"}";
    }
    chain += R"(,"me":{"$ref":"#/components/me"},"text":{"$ref":"#/openapi"})";
    openapi_document one = parsed(description("{}", "{" + chain + "}"));
    const json::view all = one.root()["components"];
    std::string fault;
    EXPECT_EQ(one.follow(all["r0"], fault)["v"].num(), 1);
    EXPECT_EQ(one.follow(all["r14"], fault)["v"].num(), 1);
    for (const std::string name : {"r19", "me", "text", "none"}) {
        fault.clear();
        EXPECT_FALSE(one.follow(all[name], fault).exists()) << name;
        EXPECT_NE(fault, "") << name;
    }
}

std::string server_of(const std::string& servers) {
    const auto text = json::document::parse(servers);
    return first_server(text->root());
}

TEST(openapi_servers, the_first_one) {
    EXPECT_EQ(server_of(R"([{"url":"https://a.test/v1/"},{"url":"https://b.test"}])"),
              "https://a.test/v1");
    EXPECT_EQ(server_of(R"([{"url":"https://{r}.a.test:{p}","variables":{"r":{"default":"eu"},
                          "p":{"default":"8443"}}}])"),
              "https://eu.a.test:8443");
    EXPECT_EQ(server_of(R"([{"url":"/v1"}])"), "/v1");
    for (const std::string servers :
         {"[]", "{}", R"([{"url":"/"}])", R"([{"url":"https://{r}.a.test"}])",
          R"([{"url":"https://{r"}])", R"([{"url":"https://a.test/\r\nX: y"}])",
          R"([{"url":1}])"}) {
        EXPECT_EQ(server_of(servers), "") << servers;
    }
}

}  // namespace
}  // namespace pillion::sidecar
