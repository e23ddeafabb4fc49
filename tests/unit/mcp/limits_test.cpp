// Budgets of callers and overload of a shard: what is refused with which code, and that nobody
// else notices.
#include <gtest/gtest.h>

#include "unit/mcp/legacy_peer.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

constexpr std::string_view near = "10.0.0.1";
constexpr std::string_view far = "10.0.0.2";

std::string echo(std::string_view id = "1") { return modern_call(id, "echo", R"({"text":"hi"})"); }

// A refusal with everything a client needs to come back at the right time.
void expect_limited(const http_reply& r, int status, int code, int after_s) {
    EXPECT_EQ(r.status, status) << r.body;
    ASSERT_TRUE(r.complete);
    const parsed message(r.message());
    EXPECT_EQ(message.code(), code) << r.body;
    EXPECT_EQ(message["error"]["data"]["retryAfter"].i64().value_or(-1), after_s) << r.body;
    const auto header = r.headers.find("retry-after");
    ASSERT_NE(header, r.headers.end());
    EXPECT_EQ(header->second, std::to_string(after_s));
    EXPECT_EQ(r.headers.at("content-type"), "application/json");
    EXPECT_TRUE(r.headers.contains("x-request-id"));
}

world_options with_limits(const std::function<void(limit_options&)>& change) {
    world_options o;
    o.timeout_ms = 30'000;
    change(o.limit);
    return o;
}

// STANDARD rows 96, 100
TEST(limits, an_address_beyond_its_rate_is_refused_and_others_are_not) {
    world w(with_limits([](limit_options& l) { l.address_rate.rate = bucket_rate::of(0.25, 2); }));
    client& c = w.connect(near);
    EXPECT_EQ(c.ask(echo()).status, 200);
    EXPECT_EQ(c.ask(echo()).status, 200);
    expect_limited(c.ask(echo()), 429, -32003, 4);
    // A new connection is no new address; an address beside it is.
    expect_limited(w.connect(near).ask(echo()), 429, -32003, 4);
    EXPECT_EQ(w.connect(far).ask(echo()).status, 200);
    // Nobody configured a limit for this machine.
    client& local = w.connect("127.0.0.1");
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(local.ask(echo()).status, 200);
    }
    // The connection is still good, and so is the client when its time has come.
    w.pass_ms(1000);
    expect_limited(c.ask(echo()), 429, -32003, 3);
    EXPECT_EQ(c.ask(http_request("GET", {}, "", "/health")).status, 200);
    w.pass_ms(3001);
    EXPECT_EQ(c.ask(echo()).status, 200);
    EXPECT_EQ(w.engine->refusals()[limited_by::address], 3U);
    EXPECT_EQ(w.left(), "");
}

TEST(limits, what_was_configured_holds_for_this_machine_too) {
    world w(with_limits([](limit_options& l) {
        l.address_rate.rate = bucket_rate::of(1, 1);
        l.address_rate.local = true;
    }));
    client& c = w.connect("127.0.0.1");
    EXPECT_EQ(c.ask(echo()).status, 200);
    expect_limited(c.ask(echo()), 429, -32003, 1);
    // A pipe is nobody's address; it has a budget of its own.
    pipe_end p(w);
    EXPECT_EQ(p.ask(modern_body("1", "server/discover")).code(), 0);
    const parsed refused = p.ask(modern_body("\"x\"", "server/discover"));
    EXPECT_EQ(refused.code(), -32003);
    EXPECT_EQ(refused.id(), "\"x\"");
    EXPECT_EQ(refused["error"]["data"]["retryAfter"].i64(), 1);
    w.pass_ms(1001);
    EXPECT_EQ(p.ask(modern_body("2", "server/discover")).code(), 0);
}

// The answer is there before the body has been sent, and the connection is closed then.
TEST(limits, a_refusal_does_not_wait_for_the_body) {
    world w(with_limits([](limit_options& l) { l.address_rate.rate = bucket_rate::of(0.5, 1); }));
    client& c = w.connect(near);
    ASSERT_EQ(c.ask(echo()).status, 200);
    const std::string whole = echo();
    const std::size_t head = whole.find("\r\n\r\n") + 4;
    const http_reply r = c.ask(whole.substr(0, head));
    expect_limited(r, 429, -32003, 2);
    EXPECT_EQ(r.headers.at("connection"), "close");
    c.send(whole.substr(head));
    EXPECT_EQ(c.replies().size(), 2U);
}

TEST(limits, each_message_of_a_batch_costs) {
    world w(with_limits([](limit_options& l) { l.address_rate.rate = bucket_rate::of(1, 4); }));
    client& c = w.connect(near);
    const http_reply born = c.ask(http_request("POST", {}, initialize_body("2025-03-26")));
    const std::string session = born.headers.at("mcp-session-id");
    std::string all = "[";
    for (const char* id : {"1", "2", "3", "4", "5"}) {
        all += (all.size() > 1 ? "," : "") + call_body(id, "echo", R"({"text":"hi"})");
    }
    const parsed answers(c.ask(legacy_post(session, all + "]")).message());
    int refused = 0;
    for (const json::view one : answers.root().elements()) {
        refused += one["error"]["code"].i64() == -32003 ? 1 : 0;
    }
    EXPECT_EQ(answers.root().size(), 5U);
    EXPECT_EQ(refused, 2);
}

TEST(limits, anonymous_handshakes_have_a_budget_of_their_own) {
    world w(with_limits([](limit_options& l) { l.handshake_rate.rate = bucket_rate::of(1, 2); }));
    client& c = w.connect(near);
    const std::string hello = http_request("POST", {}, initialize_body("2025-06-18"));
    const http_reply born = c.ask(hello);
    ASSERT_EQ(born.status, 200);
    EXPECT_EQ(
        w.connect(near)
            .ask(modern_post("subscriptions/listen", "",
                             modern_body("1", "subscriptions/listen", R"("notifications":{})")))
            .status,
        200);
    expect_limited(c.ask(hello), 429, -32003, 1);
    expect_limited(
        c.ask(modern_post("subscriptions/listen", "",
                          modern_body("1", "subscriptions/listen", R"("notifications":{})"))),
        429, -32003, 1);
    expect_limited(
        w.connect(near).ask(http_request("GET", {{"Accept", "text/event-stream"}}, "", "/sse")),
        429, -32003, 1);
    // Who is in goes on.
    EXPECT_EQ(c.ask(legacy_call(born.headers.at("mcp-session-id"), "1", "echo", R"({"text":"hi"})"))
                  .status,
              200);
    EXPECT_EQ(w.connect(far).ask(hello).status, 200);
    EXPECT_EQ(w.service->sessions().size(), 2U);
    EXPECT_EQ(w.engine->refusals()[limited_by::handshake], 3U);
}

TEST(limits, an_address_has_so_many_connections) {
    world w(with_limits([](limit_options& l) { l.address_connections.max = 2; }));
    client& one = w.connect(near);
    client& two = w.connect(near);
    EXPECT_EQ(one.ask(echo()).status, 200);
    client& three = w.connect(near);
    const http_reply r = three.ask(echo());
    expect_limited(r, 429, -32003, 30);
    EXPECT_EQ(r.headers.at("connection"), "close");
    EXPECT_EQ(w.connect(far).ask(echo()).status, 200);
    EXPECT_EQ(w.http->counts().unwanted, 1U);
    EXPECT_EQ(w.engine->refusals()[limited_by::connections], 1U);
    two.peer().finish();
    three.peer().finish();
    w.pass_ms(10);
    EXPECT_EQ(w.connect(near).ask(echo()).status, 200);
}

TEST(limits, an_address_has_so_many_requests_under_way) {
    world w(with_limits([](limit_options& l) { l.address_in_flight.max = 2; }));
    client& one = w.connect(near);
    client& two = w.connect(near);
    client& three = w.connect(near);
    one.send(modern_call("1", "nap", R"({"ms":100})"));
    two.send(modern_call("2", "nap", R"({"ms":200})"));
    const http_reply r = three.ask(echo("\"mine\""));
    expect_limited(r, 429, -32003, 1);
    EXPECT_EQ(parsed(r.message()).id(), "\"mine\"");
    EXPECT_EQ(w.connect(far).ask(echo()).status, 200);
    w.pass_ms(150);
    EXPECT_EQ(three.ask(echo()).status, 200);
    // Who hangs up gives its place back.
    two.peer().finish();
    w.pass_ms(1);
    one.send(modern_call("1", "nap", R"({"ms":100})"));
    EXPECT_EQ(three.ask(echo()).status, 200);
    w.pass_ms(200);
    EXPECT_EQ(w.left(), "");
    EXPECT_EQ(w.engine->refusals()[limited_by::in_flight], 1U);
}

TEST(limits, beyond_its_requests_a_shard_sheds_heads) {
    world w(with_limits([](limit_options& l) { l.requests_max = 2; }));
    client& one = w.connect();
    client& two = w.connect();
    client& three = w.connect();
    one.send(modern_call("1", "nap", R"({"ms":100})"));
    two.send(modern_call("2", "nap", R"({"ms":100})"));
    const std::string whole = echo();
    expect_limited(three.ask(whole.substr(0, whole.find("\r\n\r\n") + 4)), 503, -32006, 1);
    client& four = w.connect();
    expect_limited(four.ask(whole), 503, -32006, 1);
    EXPECT_EQ(four.ask(http_request("GET", {}, "", "/health")).status, 200);
    EXPECT_EQ(four.ask(http_request("GET", {}, "", "/ready")).status, 200);
    w.pass_ms(150);
    EXPECT_EQ(four.ask(whole).status, 200);
    EXPECT_EQ(one.replies().size(), 1U);
    EXPECT_EQ(two.replies().size(), 1U);
    EXPECT_EQ(w.engine->refusals()[shed_by::requests], 2U);
    EXPECT_EQ(w.left(), "");
}

// Handlers that block: one of them is an accident, turn after turn it is overload.
TEST(limits, a_loop_that_lags_sheds_heads_until_it_has_caught_up) {
    constexpr std::int64_t second_ns = 1'000'000'000;
    world w(with_limits([](limit_options& l) { l.loop_lag_ns = second_ns; }));
    client& c = w.connect();
    client& health = w.connect();
    ASSERT_EQ(c.ask(echo()).status, 200);
    const auto turns_that_take = [&](std::int64_t ns, int count) {
        for (int i = 0; i < count; ++i) {
            w.net.loop().post([&, ns] { w.net.net().advance(ns); });
            w.net.loop().run_one(0);
        }
    };
    turns_that_take(2 * second_ns, 1);
    ASSERT_EQ(c.ask(echo()).status, 200);
    turns_that_take(second_ns / 2, 5);
    c.peer().send(echo());
    turns_that_take(second_ns / 2, 5);
    ASSERT_EQ(c.replies().size(), 3U);
    EXPECT_EQ(c.replies()[2].status, 200);
    turns_that_take(2 * second_ns, 3);
    c.peer().send(echo());
    health.peer().send(http_request("GET", {}, "", "/health"));
    turns_that_take(2 * second_ns, 5);
    w.settle();
    ASSERT_EQ(c.replies().size(), 4U);
    expect_limited(c.replies()[3], 503, -32006, 1);
    EXPECT_EQ(health.replies().at(0).status, 200);
    EXPECT_EQ(w.engine->refusals()[shed_by::loop_lag], 1U);
    EXPECT_EQ(c.ask(echo()).status, 200);
}

// One request at a time, and one of those waits for its user: were the answer shed, it would wait
// for ever.
TEST(limits, a_cap_of_one_still_lets_answers_in) {
    for (const way how : {way::http, way::sse, way::pipe}) {
        world_options o = with_ask();
        o.timeout_ms = 30'000;
        o.limit.requests_max = 1;
        o.limit.address_in_flight = {1, false};
        world w(o);
        legacy_peer peer(w, how, how == way::sse ? "2024-11-05" : "2025-06-18");
        peer.call("1");
        const std::string question = peer.question();
        ASSERT_FALSE(question.empty());
        // Who waits for a user is not in the way of others…
        client& other = w.connect();
        other.send(modern_call("1", "nap", R"({"ms":100})"));
        expect_limited(w.connect().ask(echo()), 503, -32006, 1);
        // … and its answer gets through while these are.
        peer.say({answer_to(question, "yes")});
        EXPECT_EQ(peer.results("1"), std::vector<std::string>{"said: yes"});
        w.pass_ms(150);
        EXPECT_EQ(other.replies().size(), 1U);
        EXPECT_FALSE(w.service->asks_somebody());
        EXPECT_EQ(w.engine->under_way(), 0U);
    }
}

// A cancellation is what an overloaded server wants to hear.
TEST(limits, cancellations_are_let_in) {
    world w(with_limits([](limit_options& l) { l.requests_max = 1; }));
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    c.send(legacy_call(session, "1", "watch"));
    // A request in a session is told apart by its body, and knows its id then.
    const http_reply shed = w.connect().ask(legacy_call(session, "2", "nap"));
    expect_limited(shed, 503, -32006, 1);
    EXPECT_EQ(parsed(shed.message()).id(), "2");
    EXPECT_EQ(
        w.connect()
            .ask(legacy_post(session, message("", "notifications/cancelled", R"("requestId":1)")))
            .status,
        202);
    EXPECT_EQ(w.on.record, std::vector<std::string>{"watch: client"});
    EXPECT_EQ(w.connect().ask(legacy_call(session, "3", "nap")).status, 200);
}

TEST(limits, a_pipe_hears_of_overload_in_an_answer) {
    world w(with_limits([](limit_options& l) { l.requests_max = 1; }));
    pipe_end p(w);
    p.line(modern_body("1", "tools/call", call_params("nap", R"({"ms":50})")));
    const parsed refused = p.ask(modern_body("2", "server/discover"));
    EXPECT_EQ(refused.code(), -32006);
    EXPECT_EQ(refused.id(), "2");
    EXPECT_EQ(refused["error"]["data"]["retryAfter"].i64(), 1);
    w.pass_ms(60);
    EXPECT_EQ(p.ask(modern_body("3", "server/discover")).code(), 0);
}

TEST(limits, values_and_nesting_of_a_message) {
    world w(with_limits([](limit_options& l) {
        l.json.depth_max = 8;
        l.json.nodes_max = 100;
    }));
    client& c = w.connect();
    EXPECT_EQ(c.ask(echo()).status, 200);
    std::string deep = "1";
    for (int i = 0; i < 8; ++i) {
        deep = "[" + deep + "]";
    }
    const http_reply r = c.ask(modern_call("1", "nap", R"({"ms":)" + deep + "}"));
    EXPECT_EQ(r.status, 400);
    EXPECT_EQ(parsed(r.message()).code(), -32700);
    std::string many = "[0";
    for (int i = 0; i < 100; ++i) {
        many += ",0";
    }
    EXPECT_EQ(parsed(c.ask(modern_call("1", "nap", R"({"ms":)" + many + "]}")).message()).code(),
              -32700);
    pipe_end p(w);
    EXPECT_EQ(p.ask(modern_body("1", "x", R"("deep":)" + deep)).code(), -32700);
}

TEST(limits, of_a_session) {
    world w(with_limits([](limit_options& l) {
        l.session.subscriptions_max = 1;
        l.session.streams_max = 2;
    }));
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    const auto subscribe = [&](std::string_view uri) {
        return c.ask(legacy_post(
            session, message("1", "resources/subscribe", R"("uri":")" + std::string(uri) + "\"")));
    };
    EXPECT_EQ(subscribe("test://a").status, 200);
    expect_limited(subscribe("test://b"), 429, -32003, 60);
    const std::string get =
        http_request("GET", {{"Mcp-Session-Id", session}, {"Accept", "text/event-stream"}}, "");
    client& first = w.connect();
    EXPECT_EQ(first.ask(get).status, 200);
    EXPECT_EQ(w.connect().ask(get).status, 200);
    expect_limited(w.connect().ask(get), 429, -32003, 60);
    first.peer().finish();
    w.pass_ms(1);
    EXPECT_EQ(w.connect().ask(get).status, 200);
    EXPECT_EQ(w.engine->refusals()[limited_by::subscriptions], 1U);
    EXPECT_EQ(w.engine->refusals()[limited_by::streams], 1U);
}

// ---- what handlers raise ----

TEST(limits, handlers_of_all_kinds_refuse_with_a_code) {
    world_options o;
    o.more = [](server& s) {
        s.tool("busy").run(
            [](context& ctx) -> tool_result { return ctx.rate_limited("slower", 7); });
        s.tool("down").run(
            [](context& ctx) -> task<tool_result> { co_return ctx.unavailable("the store", 12); });
        s.tool("lost").run([](context& ctx) -> tool_result { return ctx.unavailable("for good"); });
        s.tool("taken").run([](context& ctx) -> tool_result { return ctx.conflict("it exists"); });
        s.prompt("down").run([](context& ctx, json::view) -> task<prompt_result> {
            co_return ctx.unavailable("the store", 12);
        });
        s.resource("test://taken")
            .name("taken")
            .run([](context& ctx, std::string_view) -> task<resource_result> {
                co_return ctx.conflict("it moved");
            });
    };
    world w(o);
    client& c = w.connect();
    struct expected {
        const char* tool;
        int code;
        const char* text;
        std::int64_t after;
    };
    for (const expected& e :
         {expected{"busy", -32003, "slower", 7}, expected{"down", -32006, "the store", 12},
          expected{"lost", -32006, "for good", -1}, expected{"taken", -32007, "it exists", -1}}) {
        const http_reply r = c.ask(modern_call("1", e.tool));
        const parsed answer(r.message());
        EXPECT_EQ(r.status, 200) << e.tool;
        EXPECT_EQ(answer.code(), e.code) << e.tool;
        EXPECT_EQ(answer["error"]["message"].str(), e.text);
        EXPECT_EQ(answer["error"]["data"]["retryAfter"].i64().value_or(-1), e.after) << e.tool;
        EXPECT_FALSE(r.headers.contains("retry-after")) << "the request itself was let in";
    }
    EXPECT_EQ(c.ask_message(modern_post("prompts/get", "down",
                                        modern_body("1", "prompts/get", R"("name":"down")")))
                  .code(),
              -32006);
    EXPECT_EQ(
        c.ask_message(modern_post("resources/read", "test://taken",
                                  modern_body("1", "resources/read", R"("uri":"test://taken")")))
            .code(),
        -32007);
}

}  // namespace
}  // namespace pillion::mcp::testing
