// Tools with a rate, a cap and a queue: order, bounds, and everything that may happen to a call
// while it waits.
#include "mcp/tool_gate.hpp"

#include <gtest/gtest.h>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

using std::chrono::milliseconds;
using texts = std::vector<std::string>;

// What the tools of these tests did, in order, and how many of them were at it at a time.
struct tally {
    texts begun;
    int inside = 0;
    int most = 0;
};

task<tool_result> work(tally& t, context& ctx, json::view args) {
    t.begun.emplace_back(args["name"].str());
    t.most = std::max(t.most, ++t.inside);
    const std::int64_t ms = args["ms"].i64().value_or(0);
    if (ms > 0) {
        co_await ctx.sleep(milliseconds(ms));
    }
    --t.inside;
    if (args["throw"].boolean()) {
        throw std::runtime_error("out of it");
    }
    co_return ctx.text("did ", args["name"].str());
}

world_options with_gates(tally& t, std::int64_t timeout_ms = 10'000) {
    world_options o;
    o.timeout_ms = timeout_ms;
    o.more = [&t](server& s) {
        const schema any = object().open();
        const auto run = [&t](context& ctx, json::view args) { return work(t, ctx, args); };
        s.tool("one").input(any).max_concurrent(1).queue(2).run(run);
        s.tool("two").input(any).max_concurrent(2).queue(10).run(run);
        s.tool("strict").input(any).max_concurrent(1).queue(0).run(run);
        s.tool("rare").input(any).rate(0.5, 2).run(run);
        s.tool("plain").input(any).max_concurrent(1).run([&t](context& ctx, json::view args) {
            t.begun.emplace_back(args["name"].str());
            return ctx.text("plain");
        });
    };
    return o;
}

std::string doing(std::string_view tool, std::string_view name, int ms,
                  std::string_view more = "") {
    return modern_call("\"" + std::string(name) + "\"", tool,
                       R"({"name":")" + std::string(name) + R"(","ms":)" + std::to_string(ms) +
                           std::string(more) + "}");
}

struct gate : ::testing::Test {
    tally t;
    const tool_gate& of(world& w, std::string_view tool) {
        return *w.engine->registered().find_tool(tool)->gate;
    }
    void expect_free(world& w) {
        for (const char* tool : {"one", "two", "strict", "plain"}) {
            EXPECT_EQ(of(w, tool).running(), 0U) << tool;
            EXPECT_EQ(of(w, tool).waiting(), 0U) << tool;
        }
        EXPECT_EQ(w.left(), "");
        EXPECT_EQ(t.inside, 0);
    }
};

TEST_F(gate, calls_run_one_after_the_other_in_their_order) {
    world w(with_gates(t));
    client& a = w.connect();
    client& b = w.connect();
    client& c = w.connect();
    a.send(doing("one", "a", 100));
    b.send(doing("one", "b", 100));
    c.send(doing("one", "c", 100));
    EXPECT_EQ(t.begun, texts{"a"});
    EXPECT_EQ(of(w, "one").waiting(), 2U);
    // Another tool has nothing to do with it.
    EXPECT_EQ(w.connect().ask(modern_call("1", "echo", R"({"text":"hi"})")).status, 200);
    w.pass_ms(110);
    EXPECT_EQ(t.begun, (texts{"a", "b"}));
    w.pass_ms(210);
    EXPECT_EQ(t.begun, (texts{"a", "b", "c"}));
    EXPECT_EQ(t.most, 1);
    for (client* one : {&a, &b, &c}) {
        ASSERT_EQ(one->replies().size(), 1U);
        EXPECT_EQ(one->replies()[0].status, 200);
    }
    expect_free(w);
}

TEST_F(gate, a_full_queue_refuses_at_once) {
    world w(with_gates(t));
    std::vector<client*> in;
    for (const char* name : {"a", "b", "c"}) {
        in.push_back(&w.connect());
        in.back()->send(doing("one", name, 100));
    }
    const http_reply r = w.connect().ask(doing("one", "d", 1));
    EXPECT_EQ(r.status, 503);
    const parsed message(r.message());
    EXPECT_EQ(message.code(), -32006);
    EXPECT_EQ(message.id(), "\"d\"");
    EXPECT_EQ(message["error"]["data"]["retryAfter"].i64(), 1);
    EXPECT_EQ(r.headers.at("retry-after"), "1");
    EXPECT_EQ(w.engine->refusals()[shed_by::tool_queue], 1U);
    w.pass_ms(400);
    EXPECT_EQ(t.begun, (texts{"a", "b", "c"}));
    EXPECT_EQ(w.connect().ask(doing("one", "e", 0)).status, 200);
    expect_free(w);
}

TEST_F(gate, without_a_queue_the_second_is_refused) {
    world w(with_gates(t));
    w.connect().send(doing("strict", "a", 50));
    EXPECT_EQ(w.connect().ask(doing("strict", "b", 0)).status, 503);
    w.pass_ms(60);
    EXPECT_EQ(w.connect().ask(doing("strict", "c", 0)).status, 200);
    expect_free(w);
}

// The first calls tell how long the tool takes; from then on it is known who would be too late.
TEST_F(gate, who_would_get_its_turn_after_its_deadline_is_refused_at_once) {
    world w(with_gates(t, 1000));
    client& first = w.connect();
    ASSERT_EQ(first.send(doing("two", "learn", 400)).replies().size(), 0U);
    w.pass_ms(410);
    std::vector<client*> in;
    std::vector<int> refused;
    for (int i = 0; i < 10; ++i) {
        in.push_back(&w.connect());
        in.back()->send(doing("two", std::to_string(i), 400));
        if (!in.back()->replies().empty()) {
            EXPECT_EQ(in.back()->replies()[0].status, 503);
            EXPECT_EQ(parsed(in.back()->replies()[0].message()).code(), -32006);
            refused.push_back(i);
        }
    }
    // Two run. 200 ms for each place in the queue: the fifth would wait 1000 ms, the sixth longer.
    EXPECT_EQ(refused, (std::vector<int>{7, 8, 9}));
    EXPECT_EQ(w.engine->refusals()[shed_by::deadline], 3U);
    w.pass_ms(2000);
    expect_free(w);
}

TEST_F(gate, a_deadline_passes_while_it_waits) {
    world w(with_gates(t, 300));
    client& a = w.connect();
    client& b = w.connect();
    a.send(doing("one", "a", 10'000));
    w.pass_ms(200);
    b.send(doing("one", "b", 0));
    w.pass_ms(110);
    // The first is out of time, and stops; the second gets its place.
    EXPECT_EQ(a.replies().at(0).status, 504);
    EXPECT_EQ(b.replies().at(0).status, 200);
    expect_free(w);
    // Now the one that waits is the first to run out of time.
    client& c = w.connect();
    client& d = w.connect();
    c.send(doing("strict", "c", 200));
    d.send(doing("one", "d", 290));
    w.connect().send(doing("one", "e", 0));
    w.pass_ms(320);
    EXPECT_EQ(t.begun, (texts{"a", "b", "c", "d", "e"}));
    expect_free(w);
}

task<tool_result> deaf_on(stage*& on, context& ctx) {
    co_await on->gate.wait();
    co_return ctx.text("late");
}

TEST_F(gate, one_that_ignores_its_deadline_keeps_its_place_to_its_end) {
    world_options o = with_gates(t, 300);
    stage* on = nullptr;
    o.more = [&, more = o.more](server& s) {
        more(s);
        s.tool("deaf").max_concurrent(1).run([&on](context& ctx) { return deaf_on(on, ctx); });
    };
    world w(o);
    on = &w.on;
    client& a = w.connect();
    a.send(modern_call("1", "deaf"));
    client& b = w.connect();
    b.send(modern_call("2", "deaf"));
    w.pass_ms(310);
    EXPECT_EQ(a.replies().at(0).status, 504);
    EXPECT_EQ(b.replies().at(0).status, 504);
    EXPECT_EQ(of(w, "deaf").running(), 1U);
    EXPECT_EQ(of(w, "deaf").waiting(), 0U);
    w.on.gate.set();
    w.settle();
    EXPECT_EQ(of(w, "deaf").running(), 0U);
    EXPECT_EQ(w.connect().ask(modern_call("3", "deaf")).status, 200);
    expect_free(w);
}

TEST_F(gate, a_client_that_leaves_the_queue_lets_the_next_one_up) {
    world w(with_gates(t));
    w.connect().send(doing("one", "a", 100));
    client& b = w.connect();
    b.send(doing("one", "b", 100));
    client& c = w.connect();
    c.send(doing("one", "c", 0));
    b.peer().finish();
    w.settle();
    EXPECT_EQ(of(w, "one").waiting(), 1U);
    w.pass_ms(110);
    EXPECT_EQ(t.begun, (texts{"a", "c"}));
    EXPECT_EQ(c.replies().at(0).status, 200);
    expect_free(w);
}

TEST_F(gate, a_cancellation_takes_a_call_out_of_the_queue) {
    world w(with_gates(t));
    pipe_end p(w);
    p.line(modern_body("1", "tools/call", call_params("one", R"({"name":"a","ms":100})")));
    p.line(modern_body("2", "tools/call", call_params("one", R"({"name":"b"})")));
    p.line(modern_body("3", "tools/call", call_params("one", R"({"name":"c"})")));
    p.line(message("", "notifications/cancelled", R"("requestId":2)"));
    EXPECT_EQ(of(w, "one").waiting(), 1U);
    // No status on a pipe, but the same code.
    p.line(modern_body("4", "tools/call", call_params("one", R"({"name":"d"})")));
    p.fresh();
    const parsed refused =
        p.ask(modern_body("5", "tools/call", call_params("one", R"({"name":"e"})")));
    EXPECT_EQ(refused.code(), -32006);
    EXPECT_EQ(refused.id(), "5");
    w.pass_ms(120);
    EXPECT_EQ(t.begun, (texts{"a", "c", "d"}));
    EXPECT_EQ(p.fresh().size(), 3U);
    expect_free(w);
}

TEST_F(gate, a_handler_that_throws_gives_its_place_back) {
    world w(with_gates(t));
    client& a = w.connect();
    client& b = w.connect();
    a.send(doing("one", "a", 20, R"(,"throw":true)"));
    b.send(doing("one", "b", 0, R"(,"throw":true)"));
    w.pass_ms(30);
    for (client* one : {&a, &b}) {
        EXPECT_EQ(parsed(one->replies().at(0).message()).code(), -32603);
    }
    expect_free(w);
}

TEST_F(gate, plain_functions_pass_it_too) {
    world w(with_gates(t));
    client& a = w.connect();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(a.ask_message(doing("plain", "p", 0)).text(), "plain");
    }
    expect_free(w);
}

// The server goes down: who still waits for a place hears so.
TEST_F(gate, a_shutdown_answers_those_who_wait) {
    world w(with_gates(t));
    client& a = w.connect();
    client& b = w.connect();
    a.send(doing("one", "a", 5000));
    b.send(doing("one", "b", 0));
    w.engine->drain();
    w.engine->stop_all();
    w.settle();
    EXPECT_EQ(parsed(a.replies().at(0).message()).text(), "did a");
    EXPECT_EQ(b.replies().at(0).status, 503);
    EXPECT_EQ(parsed(b.replies().at(0).message()).code(), -32006);
    expect_free(w);
}

TEST_F(gate, a_tool_has_a_rate_for_everybody_together) {
    world w(with_gates(t));
    EXPECT_EQ(w.connect().ask(doing("rare", "a", 0)).status, 200);
    EXPECT_EQ(w.connect().ask(doing("rare", "b", 0)).status, 200);
    const http_reply r = w.connect().ask(doing("rare", "c", 0));
    EXPECT_EQ(r.status, 429);
    EXPECT_EQ(r.headers.at("retry-after"), "2");
    EXPECT_EQ(parsed(r.message()).code(), -32003);
    EXPECT_EQ(parsed(r.message())["error"]["data"]["retryAfter"].i64(), 2);
    pipe_end p(w);
    EXPECT_EQ(p.ask(modern_body("7", "tools/call", call_params("rare", R"({"name":"d"})"))).code(),
              -32003);
    w.pass_ms(2001);
    EXPECT_EQ(w.connect().ask(doing("rare", "e", 0)).status, 200);
    EXPECT_EQ(w.engine->refusals()[limited_by::tool], 2U);
    EXPECT_EQ(t.begun, (texts{"a", "b", "e"}));
}

// As a task the call is answered at once and takes its turn whenever it comes.
TEST_F(gate, a_task_waits_for_its_place_beyond_any_deadline) {
    world_options o = with_gates(t, 300);
    o.more = [&, more = o.more](server& s) {
        more(s);
        s.tool("job")
            .input(object().open())
            .max_concurrent(1)
            .as_task(task_support::optional)
            .run([this](context& ctx, json::view args) { return work(t, ctx, args); });
    };
    world w(o);
    const std::string session = w.open_session("2025-11-25");
    client& c = w.connect();
    texts ids;
    for (const char* name : {"a", "b"}) {
        const parsed made(
            c.ask(legacy_post(session, message("1", "tools/call",
                                               call_params("job", R"({"ms":500,"name":")" +
                                                                      std::string(name) + "\"}") +
                                                   R"(,"task":{})")))
                .message());
        ids.emplace_back(made["result"]["task"]["taskId"].str());
        ASSERT_FALSE(ids.back().empty()) << made.raw();
    }
    EXPECT_EQ(t.begun, texts{"a"});
    w.pass_ms(1100);
    EXPECT_EQ(t.begun, (texts{"a", "b"}));
    EXPECT_EQ(of(w, "job").running(), 0U);
    for (const std::string& id : ids) {
        const parsed now(
            c.ask(legacy_post(session, message("2", "tasks/get", R"("taskId":")" + id + "\"")))
                .message());
        EXPECT_EQ(now["result"]["status"].str(), "completed") << now.raw();
    }
}

TEST(gate_registration, nonsense_is_refused) {
    const auto fault_of = [](const std::function<void(tool_builder&)>& set) {
        server s("x", "1");
        tool_builder b = s.tool("t");
        set(b);
        b.run([](context& ctx) { return ctx.text("x"); });
        return registration_fault(s);
    };
    EXPECT_NE(fault_of([](tool_builder& b) { b.rate(0); }), "");
    EXPECT_NE(fault_of([](tool_builder& b) { b.rate(-1); }), "");
    EXPECT_NE(fault_of([](tool_builder& b) { b.rate(0.0 / 0.0); }), "");
    EXPECT_NE(fault_of([](tool_builder& b) { b.queue(3); }), "");
    EXPECT_EQ(fault_of([](tool_builder& b) { b.rate(1e9).max_concurrent(1).queue(0); }), "");
}

}  // namespace
}  // namespace pillion::mcp::testing
