// Which era a POST belongs to (REVISIONS §2.1), and the life of sessions over HTTP (§5.4).
#include <gtest/gtest.h>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

constexpr const char* legacy_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

std::string posted(const header_list& headers, std::string_view body) {
    return http_request("POST", headers, body);
}

TEST(era, any_modern_key_is_modern_even_on_initialize) {
    world w;
    client& c = w.connect();
    const http_reply r = c.ask(modern_post("initialize", "", modern_body("1", "initialize")));
    EXPECT_EQ(r.status, 404);
    EXPECT_EQ(parsed(r.body).code(), -32601);
    const http_reply half = c.ask(
        posted({}, message("1", "tools/list",
                           R"("_meta":{"io.modelcontextprotocol/clientInfo":{"name":"x"}})")));
    EXPECT_EQ(half.status, 400);
    EXPECT_EQ(parsed(half.body).code(), -32602);
}

TEST(era, modern_header_makes_everything_but_a_bare_initialize_modern) {
    world w;
    client& c = w.connect();
    const header_list modern_header = {{"MCP-Protocol-Version", "2026-07-28"}};
    const http_reply r = c.ask(posted(modern_header, message("1", "ping", "")));
    EXPECT_EQ(r.status, 400);
    EXPECT_EQ(parsed(r.body).code(), -32602);
    const http_reply init = c.ask(posted(modern_header, initialize_body("2025-11-25")));
    EXPECT_EQ(init.status, 200);
    EXPECT_TRUE(init.headers.contains("mcp-session-id"));
}

TEST(era, initialize_opens_a_session_of_the_version_it_names) {
    world w;
    client& c = w.connect();
    for (const char* version : legacy_versions) {
        const http_reply r = c.ask(posted({}, initialize_body(version, "\"i\"")));
        EXPECT_EQ(r.status, 200);
        EXPECT_EQ(parsed(r.body)["result"]["protocolVersion"].str(), version);
        EXPECT_EQ(parsed(r.body).id(), "\"i\"");
        EXPECT_FALSE(parsed(r.body)["result"]["resultType"].exists());
    }
    for (const char* other : {"2026-07-28", "1999-01-01", "2025-11-26", "x", ""}) {
        const http_reply r = c.ask(posted({}, initialize_body(other)));
        EXPECT_EQ(parsed(r.body)["result"]["protocolVersion"].str(), "2025-11-25") << other;
    }
    EXPECT_EQ(w.service->sessions().size(), 9U);
}

TEST(era, initialize_without_what_it_needs_opens_nothing) {
    world w;
    client& c = w.connect();
    for (const char* params :
         {"", R"("protocolVersion":7,"capabilities":{},"clientInfo":{"name":"t","version":"1"})",
          R"("protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"})",
          R"("protocolVersion":"2025-06-18","capabilities":{})",
          R"("protocolVersion":"2025-06-18","capabilities":[],)"
          R"("clientInfo":{"name":"t","version":"1"})",
          R"("protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t"})"}) {
        const http_reply r = c.ask(posted({}, message("1", "initialize", params)));
        EXPECT_EQ(r.status, 200);
        EXPECT_EQ(parsed(r.body).code(), -32602) << params;
        EXPECT_FALSE(r.headers.contains("mcp-session-id"));
    }
    EXPECT_EQ(w.service->sessions().size(), 0U);
}

TEST(era, session_with_absent_or_legacy_header_is_legacy) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    EXPECT_EQ(c.ask(legacy_call(session, "1", "echo", R"({"text":"x"})")).status, 200);
    for (const char* version : legacy_versions) {
        const http_reply r =
            c.ask(posted({{"Mcp-Session-Id", session}, {"MCP-Protocol-Version", version}},
                         call_body("2", "echo", R"({"text":"x"})")));
        EXPECT_EQ(r.status, 200);
        // What was negotiated stays (G17).
        EXPECT_FALSE(parsed(r.body)["result"]["resultType"].exists());
    }
}

TEST(era, no_session_is_400_in_every_legacy_form) {
    world w;
    client& c = w.connect();
    for (const char* version : {"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        for (const char* method : {"ping", "tools/list", "nonsense"}) {
            header_list h;
            if (*version != '\0') {
                h.emplace_back("MCP-Protocol-Version", version);
            }
            const http_reply r = c.ask(posted(h, message("\"q\"", method, "")));
            EXPECT_EQ(r.status, 400);
            EXPECT_EQ(parsed(r.body).code(), -32600);
            EXPECT_EQ(parsed(r.body).id(), "\"q\"");
        }
        EXPECT_EQ(c.ask(posted({}, message("", "notifications/initialized", ""))).status, 400);
    }
}

TEST(era, unknown_version_is_refused_with_what_is_supported) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    const auto expect = [&](const http_reply& r, const char* requested) {
        EXPECT_EQ(r.status, 400);
        const parsed p(r.body);
        EXPECT_EQ(p.code(), -32022);
        EXPECT_EQ(p["error"]["data"]["supported"].size(), 5U);
        EXPECT_EQ(p["error"]["data"]["requested"].str(), requested);
    };
    expect(c.ask(posted({{"MCP-Protocol-Version", "v9"}, {"Mcp-Session-Id", session}},
                        message("1", "ping", ""))),
           "v9");
    expect(c.ask(posted({{"MCP-Protocol-Version", "v9"}}, message("1", "ping", ""))), "v9");
    std::string body = modern_body("1", "tools/list");
    body.replace(body.find("2026-07-28"), 10, "2030-01-01");
    expect(
        c.ask(posted({{"MCP-Protocol-Version", "2030-01-01"}, {"Mcp-Method", "tools/list"}}, body)),
        "2030-01-01");
}

TEST(era, a_legacy_version_in_modern_form_needs_its_session) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    std::string body = modern_body("1", "ping");
    body.replace(body.find("2026-07-28"), 10, "2025-06-18");
    const header_list version = {{"MCP-Protocol-Version", "2025-06-18"}};
    const http_reply alone = c.ask(posted(version, body));
    EXPECT_EQ(alone.status, 400);
    EXPECT_EQ(parsed(alone.body).code(), -32022);
    EXPECT_NE(alone.body.find(R"("supported":["2026-07-28"])"), std::string::npos);
    header_list with = version;
    with.emplace_back("Mcp-Session-Id", session);
    const http_reply ping = c.ask(posted(with, body));
    EXPECT_EQ(ping.status, 200);
    EXPECT_NE(ping.body.find(R"("result":{})"), std::string::npos) << ping.body;
}

TEST(era, requests_in_modern_form_keep_their_session_alive) {
    world_options o;
    o.session_idle_ms = 10'000;
    world w(o);
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    std::string body = modern_body("1", "ping");
    body.replace(body.find("2026-07-28"), 10, "2025-06-18");
    for (int i = 0; i < 6; ++i) {
        w.pass_ms(6000);
        EXPECT_EQ(c.ask(posted({{"Mcp-Session-Id", session}}, body)).status, 200) << i;
    }
}

TEST(era, a_failed_initialize_hands_out_no_session_that_came_with_it) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    std::string body = message("1", "initialize", modern_meta());
    body.replace(body.find("2026-07-28"), 10, "2025-06-18");
    const http_reply r = w.connect().ask(posted({{"Mcp-Session-Id", session}}, body));
    EXPECT_EQ(parsed(r.body).code(), -32602);
    EXPECT_FALSE(r.headers.contains("mcp-session-id"));
}

TEST(era, modern_requests_ignore_session_ids_and_mint_none) {
    world w;
    client& c = w.connect();
    for (const char* session : {"", "nobody", "00ff"}) {
        const http_reply r = c.ask(
            modern_post("tools/call", "echo",
                        modern_body("1", "tools/call", call_params("echo", R"({"text":"x"})")),
                        {{"Mcp-Session-Id", session}}));
        EXPECT_EQ(r.status, 200) << r.body;
        EXPECT_FALSE(r.headers.contains("mcp-session-id"));
    }
}

TEST(era, methods_of_the_other_era_do_not_exist) {
    world w;
    const std::string session = w.open_session("2025-11-25");
    client& c = w.connect();
    for (const char* method : {"server/discover", "subscriptions/listen", "nonsense"}) {
        const http_reply r = c.ask(legacy_post(session, message("1", method, "")));
        // 404 would tell the client that its session is gone.
        EXPECT_EQ(r.status, 200);
        EXPECT_EQ(parsed(r.body).code(), -32601);
    }
    EXPECT_EQ(c.ask(legacy_post(session, message("1", "ping", ""))).status, 200);
}

TEST(era, notifications_and_responses_are_202_without_a_body) {
    world w;
    const std::string session = w.open_session("2025-03-26");
    client& c = w.connect();
    for (const std::string& body :
         {message("", "notifications/initialized", ""), message("", "unknown", ""),
          message("", "notifications/cancelled", R"("requestId":{})"),
          message("", "notifications/cancelled", R"("requestId":"none")"),
          std::string(R"({"jsonrpc":"2.0","method":"x","params":[]})"),
          std::string(R"({"jsonrpc":"2.0","id":77,"result":{}})"),
          std::string(R"({"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"m"}})")}) {
        const http_reply r = c.ask(legacy_post(session, body));
        EXPECT_EQ(r.status, 202) << body;
        EXPECT_EQ(r.body, "");
    }
    const header_list modern_header = {{"MCP-Protocol-Version", "2026-07-28"}};
    EXPECT_EQ(c.ask(posted(modern_header, message("", "any", ""))).status, 202);
    EXPECT_EQ(c.ask(posted(modern_header, R"({"jsonrpc":"2.0","id":1,"result":{}})")).status, 400);
    EXPECT_EQ(c.ask(posted({{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "other"}},
                           message("", "any", "")))
                  .status,
              400);
}

TEST(era, answers_to_pages_of_allowed_origins_say_so) {
    world_options o;
    o.origins = {"https://app.example"};
    world w(o);
    client& c = w.connect();
    const header_list origin = {{"Origin", "https://app.example"}};
    const http_reply init = c.ask(posted(origin, initialize_body("2025-06-18")));
    const std::string session = init.headers.at("mcp-session-id");
    for (const std::string& body :
         {call_body("1", "echo", R"({"text":"x"})"), message("", "notifications/initialized", ""),
          std::string(R"({"jsonrpc":"2.0","id":77,"result":{}})"), std::string("{}"),
          call_body("2", "steps", "{}", R"("progressToken":1)")}) {
        header_list h = origin;
        h.emplace_back("Mcp-Session-Id", session);
        const http_reply r = c.ask(posted(h, body));
        EXPECT_EQ(r.headers.count("access-control-allow-origin"), 1U) << body;
        EXPECT_EQ(r.headers.count("access-control-expose-headers"), 1U);
    }
    EXPECT_EQ(c.ask(posted({{"Origin", "https://evil.example"}}, "{}")).status, 403);
}

TEST(era, unusable_bodies_are_refused_in_either_era) {
    world w;
    client& c = w.connect();
    for (const char* body : {"", " ", "{", "nul", "\xEF\xBB\xBF{}", R"("\ud800")", "{}x"}) {
        const http_reply r = c.ask(posted({}, body));
        EXPECT_EQ(r.status, 400) << body;
        EXPECT_EQ(parsed(r.body).code(), -32700) << body;
        EXPECT_EQ(parsed(r.body).id(), "");
    }
    EXPECT_EQ(parsed(c.ask(posted({}, std::string(129, '[') + std::string(129, ']'))).body).code(),
              -32700);
    EXPECT_EQ(parsed(c.ask(posted({}, "7")).body).code(), -32600);
    EXPECT_EQ(c.ask(posted({{"MCP-Protocol-Version", "2026-07-28"}}, "[]")).status, 400);
}

// ---- sessions ----

TEST(sessions, unknown_and_ended_ones_are_404) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    const std::string ping = message("1", "ping", "");
    for (const std::string& bad :
         {std::string("x"), session + "0", session.substr(1), std::string(34, '0')}) {
        const http_reply r = c.ask(legacy_post(bad, ping));
        EXPECT_EQ(r.status, 404);
        EXPECT_EQ(parsed(r.body).id(), "1");
    }
    // A connection that saw the session alive must not remember it as alive.
    EXPECT_EQ(c.ask(legacy_post(session, ping)).status, 200);
    const auto end = [&](client& by) {
        return by.ask(http_request("DELETE", {{"Mcp-Session-Id", session}}, "")).status;
    };
    EXPECT_EQ(end(w.connect()), 204);
    EXPECT_EQ(c.ask(legacy_post(session, ping)).status, 404);
    EXPECT_EQ(end(c), 404);
    EXPECT_EQ(c.ask(http_request("DELETE", {}, "")).status, 400);
    EXPECT_EQ(c.ask(http_request("DELETE", {{"MCP-Protocol-Version", "2026-07-28"}}, "")).status,
              405);
    EXPECT_EQ(w.service->sessions().size(), 0U);
}

TEST(sessions, two_session_headers_are_none) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    const http_reply r = w.connect().ask(posted(
        {{"Mcp-Session-Id", session}, {"Mcp-Session-Id", session}}, message("1", "ping", "")));
    EXPECT_EQ(r.status, 400);
}

TEST(sessions, idle_ones_expire_and_used_ones_do_not) {
    world_options o;
    o.session_idle_ms = 10'000;
    world w(o);
    const std::string used = w.open_session("2025-06-18");
    const std::string idle = w.open_session("2025-06-18");
    const std::string watched = w.open_session("2025-06-18");
    client& stream = w.connect();
    stream.send(
        http_request("GET", {{"Mcp-Session-Id", watched}, {"Accept", "text/event-stream"}}, ""));
    client& c = w.connect();
    for (int i = 0; i < 4; ++i) {
        w.pass_ms(5000);
        EXPECT_EQ(c.ask(legacy_post(used, message("1", "ping", ""))).status, 200);
    }
    EXPECT_EQ(c.ask(legacy_post(idle, message("1", "ping", ""))).status, 404);
    EXPECT_EQ(c.ask(legacy_post(watched, message("1", "ping", ""))).status, 200);
    EXPECT_FALSE(stream.replies().front().complete);
}

TEST(sessions, a_running_call_keeps_its_session) {
    world_options o;
    o.session_idle_ms = 1000;
    o.timeout_ms = 60'000;
    world w(o);
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    c.send(legacy_call(session, "1", "nap", R"({"ms":20000})"));
    w.pass_ms(19'000);
    EXPECT_EQ(w.service->sessions().size(), 1U);
    w.pass_ms(2'000);
    EXPECT_EQ(parsed(c.replies().at(0).message()).text(), "slept");
    w.pass_ms(5'000);
    EXPECT_EQ(w.service->sessions().size(), 0U);
}

TEST(sessions, the_cap_is_503_with_retry_after) {
    world_options o;
    o.sessions_max = 2;
    world w(o);
    client& c = w.connect();
    EXPECT_NE(w.open_session("2025-06-18"), "");
    const std::string second = w.open_session("2025-06-18");
    const http_reply r = c.ask(posted({}, initialize_body("2025-06-18")));
    EXPECT_EQ(r.status, 503);
    EXPECT_TRUE(r.headers.contains("retry-after"));
    EXPECT_FALSE(r.headers.contains("mcp-session-id"));
    EXPECT_EQ(parsed(r.body).code(), -32006);
    c.ask(http_request("DELETE", {{"Mcp-Session-Id", second}}, ""));
    EXPECT_NE(w.open_session("2025-06-18"), "");
}

TEST(sessions, deleting_one_ends_its_calls_and_streams_and_no_others) {
    world w;
    const std::string mine = w.open_session("2025-06-18");
    const std::string other = w.open_session("2025-06-18");
    client& running = w.connect();
    client& stream = w.connect();
    client& apart = w.connect();
    running.send(legacy_call(mine, "1", "watch"));
    stream.send(
        http_request("GET", {{"Mcp-Session-Id", mine}, {"Accept", "text/event-stream"}}, ""));
    apart.send(legacy_call(other, "1", "nap", R"({"ms":100})"));
    w.connect().ask(http_request("DELETE", {{"Mcp-Session-Id", mine}}, ""));
    w.settle();
    EXPECT_EQ(running.replies().at(0).status, 404);
    EXPECT_TRUE(stream.replies().at(0).complete);
    EXPECT_EQ(w.on.record, std::vector<std::string>{"watch: disconnected"});
    w.pass_ms(200);
    EXPECT_EQ(parsed(apart.replies().at(0).message()).text(), "slept");
    EXPECT_EQ(w.left(), "");
}

}  // namespace
}  // namespace pillion::mcp::testing
