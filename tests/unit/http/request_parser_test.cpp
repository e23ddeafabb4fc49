// Goal: what a parsed request head says. Verdicts on malformed input are in framing_test.

#include "http/request_parser.hpp"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "padded.hpp"

namespace pillion::http {
namespace {

using testing::padded;

// Parses `text` whole, which must be a valid head.
request_head parse(padded& text) {
    request_head head;
    const parse_outcome outcome = parse_request_head(text.data(), text.size(), 0, head);
    EXPECT_EQ(outcome.state, parse_state::complete) << outcome.status << ' ' << outcome.reason;
    return head;
}

TEST(request_parser, all_parts_of_a_call) {
    padded text(
        "POST /mcp?x=1?2 HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\n"
        "Accept:application/json, text/event-stream\t\r\nContent-Length: 17\r\n"
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: Echo\r\n"
        "Mcp-Param-Region: eu\r\n\r\nBODY");
    const request_head head = parse(text);
    EXPECT_EQ(head.m, method::post);
    EXPECT_EQ(head.method_text(), "POST");
    EXPECT_EQ(head.target(), "/mcp?x=1?2");
    EXPECT_EQ(head.path(), "/mcp");
    EXPECT_EQ(head.query(), "x=1?2");
    EXPECT_EQ(head.host(), "localhost:8080");
    EXPECT_EQ(head.minor_version, 1);
    EXPECT_EQ(head.get(header_id::accept), "application/json, text/event-stream");
    EXPECT_EQ(head.get(header_id::mcp_name), "Echo");
    EXPECT_EQ(head.find("mcp-param-region"), "eu");
    EXPECT_EQ(head.find("mcp-param-none"), "");
    EXPECT_EQ(head.count("mcp-param-region"), 1);
    EXPECT_EQ(head.count(header_id::mcp_method), 1);
    EXPECT_EQ(head.count(header_id::origin), 0);
    EXPECT_FALSE(head.has(header_id::origin));
    EXPECT_EQ(head.size(), 8U);
    EXPECT_TRUE(head.has_content_length);
    EXPECT_EQ(head.content_length, 17U);
    EXPECT_TRUE(head.keep_alive);
    EXPECT_FALSE(head.chunked);
    EXPECT_FALSE(head.expect_continue);
    EXPECT_EQ(head.bytes, text.size() - 4);
}

TEST(request_parser, headers_iterate_in_order_with_lower_case_names) {
    padded text("GET / HTTP/1.1\r\nHOST: A\r\nX-Two:  B b\r\nX_Three:\r\n\r\n");
    const request_head head = parse(text);
    std::vector<std::string> seen;
    for (const header h : head.headers()) {
        seen.push_back(std::string(h.name) + "=" + std::string(h.value));
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"host=A", "x-two=B b", "x_three="}));
}

TEST(request_parser, repeated_headers_are_visible) {
    padded text("GET / HTTP/1.1\r\nHost: a\r\nMcp-Name: 1\r\nMcp-Name: 2\r\nx: 1\r\nX: 2\r\n\r\n");
    const request_head head = parse(text);
    EXPECT_EQ(head.count(header_id::mcp_name), 2);
    EXPECT_EQ(head.get(header_id::mcp_name), "1");
    EXPECT_EQ(head.count("x"), 2);
    EXPECT_EQ(head.find("x"), "1");
}

TEST(request_parser, head_survives_a_move_of_its_bytes) {
    padded text("GET /path HTTP/1.1\r\nHost: a\r\nX-Y: z\r\n\r\n");
    request_head head = parse(text);
    std::string copy(text.data(), head.bytes);
    std::memset(text.data(), '?', text.size());
    head.rebase(copy.data());
    EXPECT_EQ(head.path(), "/path");
    EXPECT_EQ(head.get(header_id::host), "a");
    EXPECT_EQ(head.find("x-y"), "z");
}

TEST(request_parser, head_object_can_be_reused) {
    padded first(
        "POST http://b/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        "Expect: 100-continue\r\n\r\n");
    request_head head = parse(first);
    EXPECT_TRUE(head.chunked && head.expect_continue);
    padded second("GET / HTTP/1.0\r\n\r\n");
    ASSERT_EQ(parse_request_head(second.data(), second.size(), 0, head).state,
              parse_state::complete);
    EXPECT_FALSE(head.chunked || head.expect_continue || head.has_content_length);
    EXPECT_FALSE(head.has(header_id::host));
    EXPECT_EQ(head.host(), "");
    EXPECT_EQ(head.size(), 0U);
}

TEST(request_parser, absolute_target_gives_host_and_path) {
    padded text("GET http://b:81?q HTTP/1.1\r\nHost: a\r\n\r\n");
    const request_head head = parse(text);
    EXPECT_EQ(head.host(), "b:81");
    EXPECT_EQ(head.get(header_id::host), "b:81");
    EXPECT_EQ(head.path(), "/");
    EXPECT_EQ(head.query(), "q");
    padded old("GET HTTP://c/d HTTP/1.0\r\n\r\n");
    const request_head old_head = parse(old);
    EXPECT_EQ(old_head.host(), "c");
    EXPECT_EQ(old_head.path(), "/d");
}

TEST(request_parser, methods) {
    const std::pair<const char*, method> all[] = {
        {"GET", method::get},        {"HEAD", method::head},      {"POST", method::post},
        {"PUT", method::put},        {"DELETE", method::delete_}, {"OPTIONS", method::options},
        {"PATCH", method::patch},    {"TRACE", method::trace},    {"post", method::other},
        {"PROPFIND", method::other}, {"GETS", method::other},
    };
    for (const auto& [name, want] : all) {
        padded text(std::string(name) + " / HTTP/1.1\r\nHost: a\r\n\r\n");
        const request_head head = parse(text);
        EXPECT_EQ(head.m, want) << name;
        EXPECT_EQ(head.method_text(), name);
    }
    padded star("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(parse(star).path(), "*");
}

struct keep_alive_case {
    const char* version;
    const char* fields;
    bool want;
};

TEST(request_parser, keep_alive) {
    const keep_alive_case cases[] = {
        {"1.1", "", true},
        {"1.1", "Connection: close\r\n", false},
        {"1.1", "Connection: CLOSE\r\n", false},
        {"1.1", "Connection: x,close , y\r\n", false},
        {"1.1", "Connection: closed\r\n", true},
        {"1.1", "Connection: x\r\nConnection: close\r\n", false},
        {"1.1", "Connection: close\r\nConnection: keep-alive\r\n", false},
        {"1.0", "", false},
        {"1.0", "Connection: keep-alive\r\n", true},
        {"1.0", "Connection: Keep-Alive, close\r\n", false},
    };
    for (const keep_alive_case& c : cases) {
        padded text(std::string("GET / HTTP/") + c.version + "\r\nHost: a\r\n" + c.fields + "\r\n");
        EXPECT_EQ(parse(text).keep_alive, c.want) << c.version << ' ' << c.fields;
    }
}

TEST(request_parser, expect_continue_needs_a_body_and_http_1_1) {
    const std::pair<const char*, bool> cases[] = {
        {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", true},
        {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n", false},
        {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", false},
        {"POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", false},
    };
    for (const auto& [raw, want] : cases) {
        padded text(raw);
        EXPECT_EQ(parse(text).expect_continue, want) << raw;
    }
}

TEST(request_parser, failures_carry_a_reason) {
    padded text("GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n");
    request_head head;
    const parse_outcome outcome = parse_request_head(text.data(), text.size(), 0, head);
    EXPECT_EQ(outcome.state, parse_state::failed);
    EXPECT_EQ(outcome.status, 400);
    EXPECT_STREQ(outcome.reason, "blank before the colon of a header");
}

TEST(request_parser, values_keep_their_case_beside_short_names) {
    // The vectorised folding of names must not touch the value bytes it loads with them.
    for (std::size_t length = 1; length <= 40; ++length) {
        const std::string name(length, 'N');
        padded text("GET / HTTP/1.1\r\nHost: a\r\n" + name + ":VALUEVALUEVALUEVALUE\r\n\r\n");
        const request_head head = parse(text);
        EXPECT_EQ(head.find(std::string(length, 'n')), "VALUEVALUEVALUEVALUE");
    }
}

TEST(head, every_known_name_finds_its_slot) {
    for (std::size_t i = 0; i < header_ids; ++i) {
        const auto id = static_cast<header_id>(i);
        const std::string name(header_name(id));
        EXPECT_EQ(find_header_id(name), id) << name;
        for (std::size_t at = 0; at < name.size(); ++at) {
            std::string other = name;
            other[at] = other[at] == 'q' ? 'z' : 'q';
            EXPECT_EQ(find_header_id(other), header_id::count) << other;
        }
        EXPECT_EQ(find_header_id(name + "s"), header_id::count);
        EXPECT_EQ(find_header_id(name.substr(1)), header_id::count);
    }
    EXPECT_EQ(find_header_id(""), header_id::count);
}

}  // namespace
}  // namespace pillion::http
