// result_import: what a server behind us answers, in whatever shape, as clients of every revision
// get it; and that what makes no sense is named and harms nobody.
#include "sidecar/result_import.hpp"

#include <string>

#include <gtest/gtest.h>

#include <pillion/server.hpp>
#include <pillion/testing.hpp>

#include "json/document.hpp"
#include "rpc/errors.hpp"
#include "sidecar/rpc_peer.hpp"

namespace pillion::sidecar {
namespace {

using pillion::testing::answer;
using pillion::testing::client_options;

// Handlers that answer what `said` says, as a server behind us would have.
struct teller {
    const std::string& said;

    tool_result operator()(context& ctx) const {
        const auto parsed = json::document::parse(said);
        return import_tool_result(ctx, parsed ? parsed->root() : json::view());
    }
    task<prompt_result> operator()(context& ctx, json::view) const {
        const auto parsed = json::document::parse(said);
        co_return import_prompt_result(ctx, parsed ? parsed->root() : json::view());
    }
    task<resource_result> operator()(context& ctx, std::string_view uri) const {
        const auto parsed = json::document::parse(said);
        co_return import_resource_result(ctx, parsed ? parsed->root() : json::view(), uri);
    }
    task<completion_result> operator()(context& ctx, std::string_view, json::view) const {
        const auto parsed = json::document::parse(said);
        co_return import_completion(ctx, parsed ? parsed->root() : json::view());
    }
};

struct result_import_test : ::testing::Test {
    result_import_test() {
        const teller tell{said};
        s.tool("t").run([tell](context& ctx) { return tell(ctx); });
        s.prompt("p").argument("a", "", false).complete(tell).run(tell);
        s.resource("u://1").name("r").run(tell);
    }
    answer asked(pillion::testing::client& c, const char* what) {
        switch (*what) {
            case 't':
                return c.call("t");
            case 'p':
                return c.prompt("p");
            case 'r':
                return c.read("u://1");
            default:
                return c.request("completion/complete",
                                 R"({"ref":{"type":"ref/prompt","name":"p"},)"
                                 R"("argument":{"name":"a","value":""}})");
        }
    }
    // The result as a client of that revision gets it, without what belongs to the revision.
    std::string given(const char* what, std::string from, const char* revision = "2025-11-25") {
        said = std::move(from);
        client_options options;
        options.revision(revision);
        pillion::testing::client c(s, options);
        EXPECT_EQ(c.fault(), "");
        const answer got = asked(c, what);
        EXPECT_EQ(got.error_code(), 0) << got.raw();
        return json_text(got.result());
    }

    server s{"test", "1.0.0"};
    std::string said;
};

TEST_F(result_import_test, content_of_every_kind) {
    const std::string content =
        R"("content":[{"type":"text","text":"ü\n"},)"
        R"({"type":"image","data":"AAEC","mimeType":"image/png"},)"
        R"({"type":"audio","data":"AA==","mimeType":"audio/wav"},)"
        R"({"type":"resource_link","uri":"u://2","name":"n","mimeType":"a/b","description":"d"},)"
        R"({"type":"resource","resource":{"uri":"u://3","mimeType":"text/plain","text":"x"}},)"
        R"({"type":"resource","resource":{"uri":"u://4","mimeType":"a/b","blob":"AAA="}}])";
    const std::string got = given("t", "{" + content + "}");
    const auto parsed = json::document::parse(got);
    const auto wanted = json::document::parse("{" + content + "}");
    ASSERT_EQ(parsed->root()["content"].size(), 6U) << got;
    for (std::size_t i = 0; i < 6; ++i) {
        const json::view one = parsed->root()["content"][i];
        const json::view other = wanted->root()["content"][i];
        for (const char* const name :
             {"type", "text", "data", "mimeType", "uri", "name", "description", "resource"}) {
            EXPECT_EQ(json_text(one[name]), json_text(other[name])) << i << name;
        }
    }
    // A revision without links and audio gets what it knows.
    const std::string old = given("t", "{" + content + "}", "2024-11-05");
    EXPECT_EQ(old.find("resource_link"), old.npos) << old;
    EXPECT_EQ(old.find(R"("audio")"), old.npos) << old;
}

TEST_F(result_import_test, what_is_beside_the_content) {
    const std::string got = given(
        "t",
        R"({"content":[{"type":"text","text":"x","annotations":{"audience":["user","nobody"],)"
        R"("priority":0.5,"lastModified":"2026-01-01T00:00:00Z"}}],"structuredContent":{"a":[1]},)"
        R"("_meta":{"own/key":{"b":2},"io.modelcontextprotocol/x":1}})");
    EXPECT_NE(got.find(R"("structuredContent":{"a":[1]})"), got.npos) << got;
    EXPECT_EQ(got.find(R"("isError":true)"), got.npos) << got;
    EXPECT_NE(given("t", R"({"content":[{"type":"text","text":"x"}],"isError":true})")
                  .find(R"("isError":true)"),
              std::string::npos);
    EXPECT_NE(got.find(R"("audience":["user"])"), got.npos) << got;
    EXPECT_NE(got.find(R"("priority":0.5)"), got.npos) << got;
    EXPECT_NE(got.find(R"("lastModified":"2026-01-01T00:00:00Z")"), got.npos) << got;
    EXPECT_NE(got.find(R"("own/key":{"b":2})"), got.npos) << got;
    // What the protocol says is between the server and us.
    EXPECT_EQ(got.find("io.modelcontextprotocol/x"), got.npos) << got;
}

// An embedded page of MCP Apps came without its policy, a link without its icons.
TEST_F(result_import_test, contents_keep_their_meta_and_links_their_icons) {
    const std::string meta = R"("_meta":{"ui":{"a":[1]},"io.modelcontextprotocol/x":1})";
    const std::string said =
        R"({"content":[{"type":"text","text":"x",)" + meta + R"(},{"type":"resource",)" + meta +
        R"(,"resource":{"uri":"ui://1","text":"p",)" + meta + R"(}},{"type":"resource_link",)" +
        meta + R"(,"uri":"ui://2","name":"n","icons":[{"src":"https://x.example/i.png"},)" +
        R"({"src":"file:///i.png"}]}]})";
    for (const char* const revision : {"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
        const std::string got = given("t", said, revision);
        const auto parsed = json::document::parse(got);
        const json::view contents = parsed->root()["content"];
        ASSERT_EQ(contents.size(), 3U) << got;
        const bool knows_meta = std::string_view(revision) >= "2025-06-18";
        const bool knows_icons = std::string_view(revision) >= "2025-11-25";
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(contents[i]["_meta"].exists(), knows_meta) << revision << i;
            EXPECT_EQ(json_text(contents[i]["_meta"]), knows_meta ? R"({"ui":{"a":[1]}})" : "null");
        }
        const json::view embedded = contents[1]["resource"]["_meta"];
        EXPECT_EQ(json_text(embedded), knows_meta ? R"({"ui":{"a":[1]}})" : "null") << revision;
        EXPECT_EQ(json_text(contents[2]["icons"]),
                  knows_icons ? R"([{"src":"https://x.example/i.png"}])" : "null")
            << revision;
    }
}

TEST_F(result_import_test, a_result_from_before_content_had_a_name) {
    EXPECT_NE(given("t", R"({"toolResult":{"a":1}})").find(R"("text":"{\"a\":1}")"),
              std::string::npos);
}

TEST_F(result_import_test, what_cannot_be_handed_on_is_named) {
    for (const char* const one :
         {R"({"type":"hologram","data":"x"})", R"({"type":"image","data":"no base64!"})",
          R"({"type":"audio","data":5})", R"({"type":"resource","resource":{"uri":"u://"}})",
          R"({"type":"resource","resource":{"uri":"u://","blob":"*"}})", R"({"type":7})", "5",
          "null", R"([])", R"({})"}) {
        const std::string got = given("t", std::string(R"({"content":[)") + one + "]}");
        EXPECT_NE(got.find("cannot be shown]"), got.npos) << one << got;
    }
    // Its name must not be longer than what it says.
    const std::string got =
        given("t", R"({"content":[{"type":")" + std::string(100'000, 'x') + R"("}]})");
    EXPECT_LT(got.size(), 300U);
}

TEST_F(result_import_test, prompts) {
    const std::string got = given(
        "p", R"({"description":"d","messages":[)"
             R"({"role":"user","content":{"type":"text","text":"a"}},)"
             R"({"role":"assistant","content":{"type":"text","text":"b"}},)"
             R"({"role":"assistant","content":{"type":"image","data":"AA==","mimeType":"i/j"}},)"
             R"({"role":"user","content":{"type":"audio","data":"AA==","mimeType":"a/b"}},)"
             R"({"role":"user","content":{"type":"resource","resource":)"
             R"({"uri":"u://","mimeType":"t/p","text":"c"}}},)"
             R"({"role":"user","content":{"type":"video"}},5]})");
    const auto parsed = json::document::parse(got);
    const json::view messages = parsed->root()["messages"];
    EXPECT_EQ(parsed->root()["description"].str(), "d");
    ASSERT_EQ(messages.size(), 7U) << got;
    const char* const types[] = {"text", "text", "image", "audio", "resource", "text", "text"};
    for (std::size_t i = 0; i < 7; ++i) {
        EXPECT_EQ(messages[i]["role"].str(), i == 1 || i == 2 ? "assistant" : "user") << i;
        EXPECT_EQ(messages[i]["content"]["type"].str(), types[i]) << i;
    }
    EXPECT_EQ(messages[1]["content"]["text"].str(), "b");
    EXPECT_EQ(messages[5]["content"]["text"].str(), "[content of type video cannot be shown]");
}

TEST_F(result_import_test, resources) {
    const std::string got =
        given("r", R"({"contents":[{"text":"a","mimeType":"t/p"},{"uri":"u://2","blob":"AAE="},)"
                   R"({"uri":"u://3","blob":"?"},{"uri":"u://4"},5],"ttlMs":1000})");
    const auto parsed = json::document::parse(got);
    ASSERT_EQ(parsed->root()["contents"].size(), 2U) << got;
    // What it was asked for, where it does not say.
    EXPECT_EQ(parsed->root()["contents"][0]["uri"].str(), "u://1");
    EXPECT_EQ(parsed->root()["contents"][1]["blob"].str(), "AAE=");
}

// A server that says that its answer may be shared does not know whose it is.
TEST_F(result_import_test, what_may_be_kept_is_never_shared) {
    const std::string got = given(
        "r", R"({"contents":[{"text":"a"}],"ttlMs":1000,"cacheScope":"public"})", "2026-07-28");
    EXPECT_NE(got.find(R"("ttlMs":1000)"), got.npos) << got;
    EXPECT_NE(got.find(R"("cacheScope":"private")"), got.npos) << got;
    EXPECT_EQ(
        given("r", R"({"contents":[{"text":"a"}],"ttlMs":-1})", "2026-07-28").find(R"("ttlMs":-1)"),
        std::string::npos);
}

TEST_F(result_import_test, completions) {
    const auto parsed = json::document::parse(
        given("c", R"({"completion":{"values":["a","b"],"total":7,"hasMore":true}})"));
    EXPECT_EQ(json_text(parsed->root()["completion"]["values"]), R"(["a","b"])");
    EXPECT_EQ(parsed->root()["completion"]["total"].i64(), 7);
    EXPECT_TRUE(parsed->root()["completion"]["hasMore"].boolean());
    const auto none = json::document::parse(given("c", R"({"completion":5})"));
    EXPECT_EQ(none->root()["completion"]["values"].size(), 0U);
}

TEST_F(result_import_test, every_truncation_and_every_wrong_type_is_a_result) {
    const std::string whole =
        R"({"content":[{"type":"image","data":"AAEC","annotations":{"audience":["user"]}}],)"
        R"("messages":[{"role":"user","content":{"type":"text","text":"a"}}],)"
        R"("contents":[{"text":"a"}],"completion":{"values":["a"]},"_meta":{"a/b":1}})";
    pillion::testing::client c(s);
    ASSERT_EQ(c.fault(), "");
    for (const char* const what : {"t", "p", "r", "c"}) {
        // A resource without contents is none.
        const int empty = *what == 'r' ? rpc::internal_error : 0;
        for (std::size_t n = 0; n <= whole.size(); ++n) {
            said = whole.substr(0, n);
            EXPECT_EQ(asked(c, what).error_code(), n < whole.size() ? empty : 0) << what << n;
        }
        for (const char* const odd : {"5", "\"x\"", "[]", "null", "true", "[[5]]", "{\"\":5}"}) {
            said = std::string(R"({"content":)") + odd + R"(,"messages":)" + odd +
                   R"(,"contents":)" + odd + R"(,"completion":)" + odd + R"(,"_meta":)" + odd +
                   R"(,"isError":)" + odd + R"(,"description":)" + odd + R"(,"ttlMs":)" + odd + "}";
            EXPECT_EQ(asked(c, what).error_code(), empty) << what << odd;
        }
    }
}

// A server's -32700 is about its own connection, and not about the client's.
TEST(outward_code, what_speaks_of_our_own_connection_is_internal) {
    for (const int code : {rpc::parse_error, rpc::invalid_request, rpc::header_mismatch, -32099}) {
        EXPECT_EQ(outward_code(code, mcp::modern), rpc::internal_error) << code;
    }
    for (const int code : {rpc::method_not_found, rpc::invalid_params, rpc::internal_error, -32000,
                           -32100, 0, 7, 100'000}) {
        EXPECT_EQ(outward_code(code, mcp::modern), code) << code;
    }
}

// Clients of 2025-11-25 never opened the page that a server wanted seen first.
TEST(outward_code, a_page_to_open_is_told_to_who_knows_that) {
    using mcp::revision;
    for (const revision to : {revision::r2024_11_05, revision::r2025_03_26, revision::r2025_06_18,
                              revision::r2025_11_25, mcp::modern}) {
        EXPECT_EQ(outward_code(-32042, to),
                  to == revision::r2025_11_25 ? -32042 : rpc::internal_error);
    }
}

}  // namespace
}  // namespace pillion::sidecar
