// Requests that take time: deadlines, cancellation, disconnects, progress, log messages, draining.
#include <gtest/gtest.h>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

std::string cancelled(std::string_view id) {
    return message("", "notifications/cancelled", R"("requestId":)" + std::string(id));
}

// ---- deadlines ----

TEST(deadline, before_anything_was_sent_it_is_504) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& modern = w.connect();
    client& legacy = w.connect();
    modern.send(modern_call("\"a\"", "nap", R"({"ms":5000})"));
    legacy.send(legacy_call(session, "2", "nap", R"({"ms":5000})"));
    w.pass_ms(990);
    EXPECT_TRUE(modern.replies().empty());
    w.pass_ms(20);
    for (client* c : {&modern, &legacy}) {
        ASSERT_EQ(c->replies().size(), 1U);
        EXPECT_EQ(c->replies()[0].status, 504);
        EXPECT_EQ(parsed(c->replies()[0].message()).code(), -32004);
    }
    EXPECT_EQ(parsed(modern.replies()[0].message()).id(), "\"a\"");
    EXPECT_EQ(w.left(), "");
    // The connection goes on.
    EXPECT_EQ(modern.ask_message(modern_call("3", "nap")).text(), "slept");
}

TEST(deadline, after_a_stream_began_it_is_an_error_event) {
    world w;
    client& c = w.connect();
    c.send(modern_call("1", "steps", R"({"count":100,"pause":300})", R"("progressToken":"t")"));
    w.pass_ms(1100);
    const http_reply r = c.replies().at(0);
    EXPECT_EQ(r.status, 200);
    EXPECT_TRUE(r.complete);
    EXPECT_EQ(r.events.size(), 5U);
    EXPECT_EQ(parsed(r.events.back()).code(), -32004);
    EXPECT_EQ(w.left(), "");
}

TEST(deadline, a_handler_that_ignores_it_ends_later_and_nothing_of_it_is_sent) {
    world w;
    client& c = w.connect();
    c.send(modern_call("1", "stubborn"));
    w.pass_ms(1100);
    EXPECT_EQ(c.replies().at(0).status, 504);
    EXPECT_EQ(w.engine->live_requests(), 1U);
    EXPECT_EQ(c.ask_message(modern_call("1", "nap")).text(), "slept");
    w.on.gate.set();
    EXPECT_EQ(w.left(), "");
    EXPECT_EQ(w.on.record, std::vector<std::string>{"stubborn: deadline"});
    EXPECT_EQ(c.replies().size(), 2U);
}

TEST(deadline, a_tool_may_have_its_own) {
    world_options o;
    o.more = [](server& s) {
        s.tool("quick")
            .timeout(std::chrono::milliseconds(50))
            .run([](context& ctx) -> task<tool_result> {
                co_await ctx.until_stopped();
                co_return ctx.text("x");
            });
    };
    world w(o);
    client& c = w.connect();
    c.send(modern_call("1", "quick"));
    w.pass_ms(60);
    EXPECT_EQ(c.replies().at(0).status, 504);
    EXPECT_EQ(w.left(), "");
}

TEST(deadline, handlers_that_throw_are_internal_errors_without_their_secrets) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    for (const char* tool : {"throw_now", "throw_late"}) {
        for (const std::string& request :
             {modern_call("1", tool), legacy_call(session, "1", tool)}) {
            const http_reply r = c.ask(request);
            EXPECT_EQ(r.status, 200);
            EXPECT_EQ(parsed(r.message()).code(), -32603);
            EXPECT_EQ(r.body.find("secret"), std::string::npos);
        }
    }
    EXPECT_EQ(w.left(), "");
}

// ---- cancellation and disconnects ----

TEST(cancellation, a_legacy_call_is_cancelled_from_another_connection) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    const std::string other = w.open_session("2025-06-18");
    client& c = w.connect();
    client& second = w.connect();
    c.send(legacy_call(session, "5", "watch"));
    // Neither another session nor an id of another type is meant.
    second.ask(legacy_post(other, cancelled("5")));
    second.ask(legacy_post(session, cancelled("\"5\"")));
    w.settle();
    EXPECT_TRUE(c.replies().empty());
    EXPECT_EQ(second.ask(legacy_post(session, cancelled("5"))).status, 202);
    w.settle();
    // A stream that ends empty: no response, and the connection can be used on.
    const http_reply r = c.replies().at(0);
    EXPECT_TRUE(r.streamed() && r.complete && r.events.empty());
    EXPECT_EQ(w.on.record, std::vector<std::string>{"watch: client"});
    EXPECT_EQ(w.left(), "");
    EXPECT_EQ(c.ask_message(legacy_call(session, "6", "nap")).text(), "slept");
}

TEST(cancellation, of_a_finished_or_unknown_call_is_ignored) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    c.ask(legacy_call(session, "1", "nap"));
    for (const char* id : {"1", "2", "\"\"", "null", "1.5", "{}", "[1]"}) {
        EXPECT_EQ(c.ask(legacy_post(session, cancelled(id))).status, 202);
    }
    EXPECT_EQ(w.left(), "");
}

TEST(cancellation, a_call_reusing_the_id_of_one_that_ignores_its_stop_can_be_cancelled) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& first = w.connect();
    client& second = w.connect();
    client& third = w.connect();
    first.send(legacy_call(session, "1", "stubborn"));
    third.ask(legacy_post(session, cancelled("1")));
    second.send(legacy_call(session, "1", "watch"));
    third.ask(legacy_post(session, cancelled("1")));
    w.settle();
    EXPECT_EQ(w.on.record, std::vector<std::string>{"watch: client"});
    w.on.gate.set();
    EXPECT_EQ(w.left(), "");
}

TEST(cancellation, a_modern_post_of_it_changes_nothing) {
    world w;
    client& c = w.connect();
    c.send(modern_call("1", "nap", R"({"ms":100})"));
    EXPECT_EQ(
        w.connect()
            .ask(http_request("POST", {{"MCP-Protocol-Version", "2026-07-28"}}, cancelled("1")))
            .status,
        202);
    w.pass_ms(150);
    EXPECT_EQ(parsed(c.replies().at(0).message()).text(), "slept");
}

TEST(cancellation, a_modern_client_that_goes_has_cancelled_a_legacy_one_has_not) {
    for (const bool reset : {true, false}) {
        world w;
        const std::string session = w.open_session("2025-06-18");
        client& modern = w.connect();
        client& legacy = w.connect();
        modern.send(modern_call("1", "watch"));
        legacy.send(legacy_call(session, "1", "nap", R"({"ms":500})"));
        for (client* c : {&modern, &legacy}) {
            reset ? c->peer().reset() : c->peer().finish();
        }
        w.settle();
        EXPECT_EQ(w.on.record, std::vector<std::string>{"watch: disconnected"});
        EXPECT_TRUE(modern.replies().empty());
        EXPECT_EQ(w.on.inside, 1);
        w.pass_ms(600);
        EXPECT_EQ(w.left(), "");
        // Half-closed, it may still read.
        EXPECT_EQ(legacy.replies().size(), reset ? 0U : 1U);
    }
}

// The end of the last request took along what the client had not read of the answers before it.
TEST(cancellation, who_hangs_up_gets_the_answers_that_were_there) {
    const std::string listen = modern_post(
        "subscriptions/listen", "",
        modern_body("2", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})"));
    for (const std::string& last : {modern_call("2", "watch"), listen}) {
        world w;
        client& c = w.connect();
        c.peer().block(true);
        c.send(modern_call("1", "nap") + last);
        c.peer().finish();
        w.settle();
        EXPECT_EQ(c.peer().received(), "");
        c.peer().block(false);
        EXPECT_EQ(w.left(), "");
        EXPECT_EQ(parsed(c.replies().at(0).message()).text(), "slept");
        EXPECT_TRUE(c.peer().closed());
    }
}

TEST(cancellation, disconnects_at_every_byte_of_a_reply_leave_nothing) {
    const std::string request = modern_call("1", "steps", R"({"count":3})", R"("progressToken":1)");
    std::size_t total = 1;
    for (std::size_t at = 0; at <= total; ++at) {
        world_options o;
        o.net.send_max = 1;
        world w(o);
        client& c = w.connect();
        c.peer().send(request);
        for (int turn = 0; turn < 5000 && c.peer().received().size() < at; ++turn) {
            w.net.loop().run_one(0);
        }
        c.peer().reset();
        EXPECT_EQ(w.left(), "") << at;
        EXPECT_LE(c.peer().received().size(), at + 1);
        if (at == 0) {
            world whole;
            total = whole.connect().send(request).peer().received().size();
            EXPECT_GT(total, 500U);
        }
    }
}

// ---- progress and log messages ----

TEST(progress, keeps_the_type_of_its_token_and_only_rises) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    const char* values = R"({"values":[1,1,0.5,2,"nan",2.5,-1,3]})";
    for (const char* token : {"\"7\"", "7", "\"\"", "12345678901234567890"}) {
        const std::string meta = R"("progressToken":)" + std::string(token);
        for (const std::string& request : {modern_call("1", "jumps", values, meta),
                                           legacy_call(session, "1", "jumps", values, meta)}) {
            const http_reply r = c.ask(request);
            ASSERT_EQ(r.events.size(), 5U) << r.body;
            const char* progress[] = {"1", "2", "2.5", "3"};
            for (std::size_t i = 0; i < 4; ++i) {
                EXPECT_EQ(r.events[i],
                          std::string(R"({"jsonrpc":"2.0","method":"notifications/progress",)") +
                              R"("params":{"progressToken":)" + token + R"(,"progress":)" +
                              progress[i] + "}}");
            }
            EXPECT_EQ(parsed(r.events[4]).text(), "done");
        }
    }
}

TEST(progress, without_a_usable_token_there_is_none) {
    world w;
    const std::string session = w.open_session("2024-11-05");
    client& c = w.connect();
    EXPECT_FALSE(c.ask(modern_call("1", "steps")).streamed());
    for (const char* token : {"1.5", "null", "{}", "true"}) {
        const http_reply r = c.ask(
            legacy_call(session, "1", "steps", "{}", R"("progressToken":)" + std::string(token)));
        EXPECT_FALSE(r.streamed()) << token;
        EXPECT_EQ(parsed(r.message()).text(), "done");
    }
}

TEST(progress, message_and_total_by_revision) {
    world w;
    client& c = w.connect();
    for (const char* version : {"2024-11-05", "2025-03-26"}) {
        const http_reply r = c.ask(legacy_call(w.open_session(version), "1", "steps",
                                               R"({"count":1})", R"("progressToken":1)"));
        const parsed p(r.events.at(0));
        EXPECT_EQ(p["params"]["total"].num(), 1);
        EXPECT_EQ(p["params"]["message"].str(),
                  std::string_view(version) == "2024-11-05" ? "" : "step");
    }
}

std::vector<std::string> levels_in(const http_reply& r) {
    std::vector<std::string> all;
    for (const std::string& event : r.events) {
        const parsed p(event);
        if (p["method"].str() == "notifications/message") {
            all.emplace_back(p["params"]["level"].str());
        }
    }
    return all;
}

using levels = std::vector<std::string>;

TEST(log_messages, modern_clients_hear_what_they_asked_for_in_that_request) {
    world w;
    client& c = w.connect();
    EXPECT_TRUE(levels_in(c.ask(modern_call("1", "chatter"))).empty());
    const auto at = [&](const char* level) {
        return levels_in(c.ask(
            modern_call("1", "chatter", "{}",
                        R"("io.modelcontextprotocol/logLevel":")" + std::string(level) + "\"")));
    };
    EXPECT_EQ(at("debug"), (levels{"debug", "info", "warning", "error", "emergency"}));
    EXPECT_EQ(at("notice"), (levels{"warning", "error", "emergency"}));
    EXPECT_EQ(at("emergency"), levels{"emergency"});
}

TEST(log_messages, legacy_clients_hear_from_their_level_on) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    const auto chatter = [&] { return levels_in(c.ask(legacy_call(session, "1", "chatter"))); };
    EXPECT_EQ(chatter(), (levels{"info", "warning", "error", "emergency"}));
    const auto set = [&](const char* params) {
        return c.ask_message(legacy_post(session, message("2", "logging/setLevel", params)));
    };
    EXPECT_EQ(set(R"("level":"alert")").code(), 0);
    EXPECT_EQ(chatter(), levels{"emergency"});
    for (const char* bad : {"", R"("level":"loud")", R"("level":3)", R"("level":"Debug")"}) {
        EXPECT_EQ(set(bad).code(), -32602) << bad;
    }
    EXPECT_EQ(chatter(), levels{"emergency"});
}

TEST(log_messages, are_one_line_of_valid_json_whatever_the_handler_says) {
    world w;
    const http_reply r = w.connect().ask(
        modern_call("1", "chatter", "{}", R"("io.modelcontextprotocol/logLevel":"debug")"));
    ASSERT_EQ(r.events.size(), 6U);
    for (const std::string& event : r.events) {
        EXPECT_TRUE(parsed(event).good()) << event;
    }
    EXPECT_EQ(parsed(r.events[1])["params"]["logger"].str(), "logger");
    EXPECT_EQ(parsed(r.events[2])["params"]["data"].str(), "w\nwith \xEF\xBF\xBD line end");
    EXPECT_EQ(parsed(r.events[3])["params"]["data"]["a"].i64(), 1);
    EXPECT_TRUE(parsed(r.events[4])["params"]["data"].is_null());
}

// ---- order, pieces, slow clients, draining ----

TEST(requests, pipelined_ones_are_answered_in_order_the_slow_one_first) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    c.send(modern_call("1", "nap", R"({"ms":300})") + modern_call("2", "echo", R"({"text":"a"})") +
           legacy_call(session, "3", "nap", R"({"ms":100})") +
           legacy_call(session, "4", "echo", R"({"text":"b"})"));
    EXPECT_TRUE(c.replies().empty());
    w.pass_ms(350);
    EXPECT_EQ(c.replies().size(), 2U);
    w.pass_ms(150);
    const auto all = c.replies();
    ASSERT_EQ(all.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(parsed(all[i].message()).id(), std::to_string(i + 1));
    }
    EXPECT_EQ(w.left(), "");
}

TEST(requests, split_at_every_byte_are_answered_alike) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    for (const std::string& request :
         {modern_call("1", "echo", R"({"text":"hello"})"),
          legacy_call(session, "1", "echo", R"({"text":"hello"})"),
          legacy_call(session, "1", "steps", "{}", R"("progressToken":1)")}) {
        const std::string whole = parsed(w.connect().ask(request).message()).raw();
        for (std::size_t at = 1; at < request.size(); ++at) {
            client& c = w.connect();
            c.peer().split_at({at});
            const http_reply r = c.ask(request);
            ASSERT_EQ(r.message(), whole) << at;
            c.peer().finish();
        }
    }
    EXPECT_EQ(w.left(), "");
}

TEST(requests, a_slow_reader_holds_its_handler_back) {
    world_options o;
    o.timeout_ms = 100'000;
    world w(o);
    const std::string session = w.open_session("2025-06-18");
    for (const std::string& request :
         {modern_call("1", "flood", R"({"count":100})", log_level_info),
          legacy_call(session, "1", "flood", R"({"count":100})")}) {
        w.on.record.clear();
        client& c = w.connect();
        c.peer().block(true);
        c.send(request);
        EXPECT_GE(w.on.record.size(), 1U);
        EXPECT_LE(w.on.record.size(), 10U);
        w.pass_ms(1000);
        EXPECT_LE(w.on.record.size(), 10U);
        c.peer().block(false);
        w.settle();
        EXPECT_EQ(w.on.record.size(), 100U);
        EXPECT_EQ(c.replies().at(0).events.size(), 101U);
    }
    EXPECT_EQ(w.left(), "");
}

TEST(requests, a_slow_reader_does_not_keep_a_handler_beyond_its_deadline) {
    world w;
    client& c = w.connect();
    c.peer().block(true);
    c.send(modern_call("1", "flood", R"({"count":100})", log_level_info));
    w.pass_ms(1100);
    EXPECT_EQ(w.engine->live_requests(), 0U);
    EXPECT_EQ(w.on.inside, 0);
}

TEST(drain, calls_in_flight_are_finished_and_the_rest_is_told) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& slow = w.connect();
    client& stream = w.connect();
    client& idle = w.connect();
    slow.send(modern_call("1", "nap", R"({"ms":300})"));
    stream.send(
        http_request("GET", {{"Mcp-Session-Id", session}, {"Accept", "text/event-stream"}}, ""));
    EXPECT_EQ(idle.ask(http_request("GET", {}, "", "/ready")).status, 200);
    w.engine->drain();
    EXPECT_EQ(idle.ask(http_request("GET", {}, "", "/ready")).status, 503);
    EXPECT_EQ(idle.ask(http_request("GET", {}, "", "/health")).status, 200);
    w.http->drain();
    w.settle();
    EXPECT_TRUE(stream.replies().at(0).complete);
    w.pass_ms(400);
    EXPECT_EQ(parsed(slow.replies().at(0).message()).text(), "slept");
    EXPECT_EQ(w.left(), "");
}

TEST(drain, stopping_all_asks_every_handler_to_stop) {
    world w;
    client& c = w.connect();
    client& other = w.connect();
    c.send(modern_call("1", "watch"));
    other.send(modern_call("1", "nap", R"({"ms":900})"));
    w.engine->drain();
    w.settle();
    EXPECT_EQ(w.on.inside, 2);
    w.engine->stop_all();
    w.settle();
    EXPECT_EQ(w.on.record, std::vector<std::string>{"watch: shutdown"});
    EXPECT_EQ(parsed(other.replies().at(0).message()).text(), "woken");
    EXPECT_EQ(w.left(), "");
}

}  // namespace
}  // namespace pillion::mcp::testing
