// Goal: requests are what each revision asks for. Method: heads and bodies are read by the
// product's own parsers.

#include "bench/load/scenario.hpp"

#include <gtest/gtest.h>

#include "http/request_parser.hpp"
#include "json/document.hpp"
#include "unit/http/padded.hpp"

namespace pillion::load {
namespace {

target somewhere() {
    std::string fault;
    return parse_target("http://127.0.0.1:8080/mcp?x=1", "", fault).value();
}

const place here{"", "/mcp?x=1"};

struct parsed_request {
    http::testing::padded text;
    http::request_head head;
    explicit parsed_request(const request_text& from) : text(from.begin + from.end) {
        const http::parse_outcome outcome =
            http::parse_request_head(text.data(), text.size(), 0, head);
        EXPECT_EQ(outcome.state, http::parse_state::complete) << outcome.reason;
        EXPECT_EQ(head.content_length, text.size() - head.bytes);
    }
    json::document body() {
        auto parsed = json::document::parse({text.data() + head.bytes, text.size() - head.bytes});
        EXPECT_TRUE(parsed);
        return std::move(*parsed);
    }
};

TEST(scenario, call_of_2026_07_28) {
    scenario how;
    how.headers = {"Authorization: Bearer x"};
    const question call{action::tools_call, "echo", R"({"text":"hi"})"};
    const request_text text = render(how, call, somewhere(), here);
    EXPECT_EQ(text.begin.substr(text.id_at, id_digits), "1000000000");
    parsed_request read(text);
    EXPECT_EQ(read.head.target(), "/mcp?x=1");
    EXPECT_EQ(read.head.host(), "127.0.0.1:8080");
    EXPECT_EQ(read.head.get(http::header_id::mcp_protocol_version), "2026-07-28");
    EXPECT_EQ(read.head.get(http::header_id::mcp_method), "tools/call");
    EXPECT_EQ(read.head.get(http::header_id::mcp_name), "echo");
    EXPECT_EQ(read.head.get(http::header_id::authorization), "Bearer x");
    EXPECT_FALSE(read.head.has(http::header_id::mcp_session_id));
    const json::document body = read.body();
    EXPECT_EQ(body.root()["method"].str(), "tools/call");
    EXPECT_EQ(body.root()["params"]["arguments"]["text"].str(), "hi");
    const json::view meta = body.root()["params"]["_meta"];
    EXPECT_EQ(meta["io.modelcontextprotocol/protocolVersion"].str(), "2026-07-28");
    EXPECT_TRUE(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
}

TEST(scenario, ping_is_discover_where_there_is_no_ping) {
    scenario how;
    EXPECT_EQ(parsed_request(render(how, {}, somewhere(), here)).body().root()["method"].str(),
              "server/discover");
    how.rev = revision::r2025_06_18;
    EXPECT_EQ(parsed_request(render(how, {}, somewhere(), here)).body().root()["method"].str(),
              "ping");
}

TEST(scenario, sessions) {
    scenario how;
    how.rev = revision::r2025_11_25;
    const question list_all{action::tools_list};
    const place session{"s1", here.path};
    parsed_request hello(render(how, {action::initialize}, somewhere(), here));
    EXPECT_FALSE(hello.head.has(http::header_id::mcp_protocol_version));
    EXPECT_EQ(hello.body().root()["params"]["protocolVersion"].str(), "2025-11-25");
    EXPECT_EQ(hello.body().root()["params"]["clientInfo"]["name"].str(), "pillion-bench");

    const request_text told = render(how, {action::initialized}, somewhere(), session);
    EXPECT_EQ(told.id_at, 0U);
    parsed_request note(told);
    EXPECT_FALSE(note.body().root()["id"].exists());
    EXPECT_EQ(note.body().root()["method"].str(), "notifications/initialized");

    parsed_request list(render(how, list_all, somewhere(), session));
    EXPECT_EQ(list.head.get(http::header_id::mcp_session_id), "s1");
    EXPECT_EQ(list.head.get(http::header_id::mcp_protocol_version), "2025-11-25");
    EXPECT_FALSE(list.head.has(http::header_id::mcp_method));

    parsed_request end({render_delete(how, somewhere(), session), "", 0});
    EXPECT_EQ(end.head.m, http::method::delete_);
    EXPECT_EQ(end.head.get(http::header_id::mcp_session_id), "s1");
    // The header came with 2025-06-18.
    how.rev = revision::r2025_03_26;
    parsed_request old(render(how, list_all, somewhere(), session));
    EXPECT_FALSE(old.head.has(http::header_id::mcp_protocol_version));
}

// Names that HTTP does not take as they are travel in base64 (REVISIONS §5.7).
TEST(scenario, names_in_headers) {
    const std::pair<const char*, const char*> cases[] = {
        {"two words", "two words"},
        {"größe", "=?base64?Z3LDtsOfZQ==?="},
        {" x", "=?base64?IHg=?="},
        {"=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
    };
    for (const auto& [name, value] : cases) {
        const question call{action::tools_call, name};
        parsed_request read(render({}, call, somewhere(), here));
        EXPECT_EQ(read.head.get(http::header_id::mcp_name), value);
        EXPECT_EQ(read.body().root()["params"]["name"].str(), name);
    }
}

TEST(scenario, lines_for_a_server_on_stdio) {
    const target pipes = command_target({"server", "--stdio"});
    EXPECT_EQ(pipes.text, "stdio server --stdio");
    const request_text text = render({}, {action::tools_list}, pipes, {});
    EXPECT_EQ(text.begin, "{\"jsonrpc\":\"2.0\",\"id\":1000000000,");
    EXPECT_TRUE(text.end.ends_with("}}\n"));
    const auto whole = json::document::parse(text.begin + text.end);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->root()["method"].str(), "tools/list");
}

// What is not part of every request goes into params, whether there is something else or not.
TEST(scenario, more_members) {
    scenario how;
    question list{action::tools_list, {}, "{}", R"(,"cursor":"x")"};
    for (const revision rev : {revision::r2025_06_18, revision::r2026_07_28}) {
        how.rev = rev;
        parsed_request read(render(how, list, somewhere(), here));
        EXPECT_EQ(read.body().root()["params"]["cursor"].str(), "x");
    }
    how.how = pattern::progress;
    parsed_request call(render(how, {action::tools_call, "t"}, somewhere(), here));
    EXPECT_EQ(call.body().root()["params"]["_meta"]["progressToken"].str(), progress_token);
    how.rev = revision::r2025_06_18;
    parsed_request old(render(how, {action::tools_call, "t"}, somewhere(), here));
    EXPECT_EQ(old.body().root()["params"]["_meta"]["progressToken"].str(), progress_token);
}

TEST(scenario, subjects_of_methods) {
    const std::pair<question, const char*> cases[] = {
        {{action::prompts_get, "p", R"({"a":"b"})"}, "name"},
        {{action::resources_read, "p"}, "uri"},
        {{action::tasks_get, "p"}, "taskId"},
    };
    for (const auto& [asked, member] : cases) {
        parsed_request read(render({}, asked, somewhere(), here));
        EXPECT_EQ(read.body().root()["params"][member].str(), "p");
        EXPECT_EQ(read.head.get(http::header_id::mcp_name), "p");
    }
}

TEST(scenario, opening_of_a_stream) {
    scenario how;
    how.rev = revision::r2024_11_05;
    parsed_request read({render_open(how, somewhere()), "", 0});
    EXPECT_EQ(read.head.m, http::method::get);
    EXPECT_EQ(read.head.target(), "/mcp?x=1");
    EXPECT_EQ(read.head.get(http::header_id::accept), "text/event-stream");
}

TEST(scenario, extra_headers) {
    EXPECT_TRUE(is_extra_header("X-Y: z"));
    EXPECT_TRUE(is_extra_header("X-Y:"));
    for (const char* const bad : {"", "X", ": z", "X Y: z", "X: a\r\nB: c", "Content-length: 5",
                                  "host: x", "Transfer-Encoding: chunked", "X: \x01"}) {
        EXPECT_FALSE(is_extra_header(bad)) << bad;
    }
}

}  // namespace
}  // namespace pillion::load
