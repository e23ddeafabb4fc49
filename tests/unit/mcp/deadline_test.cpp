// Deadlines: what sets them, what moves them, limits below them, and handlers that go on
// afterwards.
#include <gtest/gtest.h>

#include "unit/mcp/legacy_peer.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

using std::chrono::milliseconds;

constexpr const char* every_revision[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                          "2026-07-28"};

task<tool_result> left(context& ctx) {
    co_await ctx.yield();
    co_return ctx.text(std::to_string(ctx.remaining().count() / 1'000'000));
}

// Progress every 100 ms until it is stopped.
task<tool_result> climb(context& ctx) {
    for (int i = 1; !ctx.stopped(); ++i) {
        co_await ctx.progress(i);
        co_await ctx.sleep(milliseconds(100));
    }
    co_return ctx.text("stopped");
}

void add_timed(server& s) {
    s.tool("left").run(&left);
    s.tool("left_of_ten_minutes").timeout(std::chrono::minutes(10)).run(&left);
    s.tool("climb").timeout(milliseconds(250)).run(&climb);
    s.tool("climb_far").timeout(milliseconds(250)).timeout_max(milliseconds(700)).run(&climb);
}

world_options timed(std::function<void(service_options&)> set = {}) {
    world_options o;
    o.more = add_timed;
    o.set = std::move(set);
    return o;
}

std::string wish(std::string_view value) { return R"("pillion/timeoutMs":)" + std::string(value); }

// A client that calls in its revision.
class caller {
 public:
    caller(world& in, std::string_view version) : to_(in.connect()) {
        if (version != "2026-07-28") {
            session_ = in.open_session(version);
        }
    }
    client& call(std::string_view tool, std::string_view meta = {}) {
        return to_.send(session_.empty() ? modern_call("1", tool, "{}", meta)
                                         : legacy_call(session_, "1", tool, "{}", meta));
    }
    parsed ask(std::string_view tool, std::string_view meta = {}) {
        const std::size_t before = to_.replies().size();
        call(tool, meta);
        return parsed(to_.replies().at(before).message());
    }
    client& to() { return to_; }

 private:
    client& to_;
    std::string session_;
};

// ---- what sets it ----

TEST(deadline_of, a_request_is_the_least_of_tool_server_and_client) {
    world w(timed([](service_options& o) { o.request_timeout_ms_max = 5000; }));
    for (const char* version : every_revision) {
        caller c(w, version);
        EXPECT_EQ(c.ask("left").text(), "1000") << version;
        EXPECT_EQ(c.ask("left_of_ten_minutes").text(), "5000");
        EXPECT_EQ(c.ask("left", wish("300")).text(), "300");
        EXPECT_EQ(c.ask("left", wish("300.0")).text(), "300");
        EXPECT_EQ(c.ask("left", wish("1001")).text(), "1000");
        EXPECT_EQ(c.ask("left", wish("9223372036854775807")).text(), "1000");
    }
}

TEST(deadline_of, a_request_that_asks_for_no_time_is_refused) {
    world w(timed());
    for (const char* version : every_revision) {
        caller c(w, version);
        for (const char* bad : {"0", "-1", "0.5", "\"300\"", "null", "{}", "1e300"}) {
            const parsed refused = c.ask("left", wish(bad));
            EXPECT_EQ(refused.code(), -32602) << version << ' ' << bad;
            EXPECT_EQ(refused["error"]["data"]["field"].str(), "pillion/timeoutMs");
        }
    }
    EXPECT_EQ(w.left(), "");
}

TEST(deadline_of, prompts_resources_and_completions_as_well) {
    world_options o;
    o.more = [](server& s) {
        s.prompt("slow").run([](context& ctx, json::view) -> task<prompt_result> {
            co_await ctx.until_stopped();
            co_return ctx.prompt();
        });
        s.resource("test://slow")
            .name("slow")
            .run([](context& ctx, std::string_view) -> task<resource_result> {
                co_await ctx.until_stopped();
                co_return ctx.contents();
            });
        s.resource_template("test://slow/{x}")
            .name("slow")
            .complete("x",
                      [](context& ctx, std::string_view, json::view) -> task<completion_result> {
                          co_await ctx.until_stopped();
                          co_return ctx.completion();
                      })
            .run([](context& ctx, std::string_view) -> task<resource_result> {
                co_return ctx.contents();
            });
    };
    world w(o);
    const auto ends = [&](std::string_view method, std::string_view name, std::string_view params) {
        client& c = w.connect();
        c.send(modern_post(method, name, modern_body("1", method, params, wish("50"))));
        w.pass_ms(45);
        EXPECT_TRUE(c.replies().empty()) << method;
        w.pass_ms(10);
        EXPECT_EQ(c.replies().at(0).status, 504) << method;
        EXPECT_EQ(parsed(c.replies()[0].message()).code(), -32004);
    };
    ends("prompts/get", "slow", R"("name":"slow")");
    ends("resources/read", "test://slow", R"("uri":"test://slow")");
    ends("completion/complete", "",
         R"("ref":{"type":"ref/resource","uri":"test://slow/{x}"},)"
         R"("argument":{"name":"x","value":""})");
    EXPECT_EQ(w.left(), "");
}

TEST(deadline_of, a_request_by_header_only_where_the_operator_allows_it) {
    const auto with = [](std::string_view value) {
        return modern_post("tools/call", "left",
                           modern_body("1", "tools/call", call_params("left", "{}")),
                           {{"X-Request-Timeout-Ms", std::string(value)}});
    };
    {
        world off(timed());
        EXPECT_EQ(off.connect().ask_message(with("300")).text(), "1000");
        EXPECT_EQ(off.connect().ask_message(with("soon")).text(), "1000");
    }
    world on(timed([](service_options& o) { o.timeout_header = true; }));
    EXPECT_EQ(on.connect().ask_message(with("300")).text(), "300");
    EXPECT_EQ(on.connect().ask_message(with("3000")).text(), "1000");
    for (const char* bad : {"0", "-1", "soon", "", "1.5", "1, 2", "99999999999999999999"}) {
        const http_reply r = on.connect().ask(with(bad));
        EXPECT_EQ(r.status, 400) << bad;
        EXPECT_EQ(parsed(r.message()).code(), -32602);
        EXPECT_EQ(parsed(r.message())["error"]["data"]["field"].str(), "X-Request-Timeout-Ms");
    }
    // The least of header and _meta.
    EXPECT_EQ(on.connect()
                  .ask_message(modern_post(
                      "tools/call", "left",
                      modern_body("1", "tools/call", call_params("left", "{}"), wish("200")),
                      {{"X-Request-Timeout-Ms", "300"}}))
                  .text(),
              "200");
}

TEST(deadline_of, each_member_of_a_batch_by_header) {
    world w(timed([](service_options& o) { o.timeout_header = true; }));
    const std::string session = w.open_session("2025-03-26");
    client& c = w.connect();
    c.send(http_request("POST", {{"Mcp-Session-Id", session}, {"X-Request-Timeout-Ms", "100"}},
                        "[" + call_body("1", "left") + "," + call_body("2", "watch") + "," +
                            call_body("3", "left", "{}", wish("70")) + "]"));
    w.pass_ms(110);
    const parsed all(c.replies().at(0).body);
    ASSERT_EQ(all.root().size(), 3U);
    EXPECT_NE(all.raw().find("\"text\":\"100\""), std::string::npos);
    EXPECT_NE(all.raw().find("\"text\":\"70\""), std::string::npos);
    EXPECT_NE(all.raw().find("-32004"), std::string::npos);
    EXPECT_EQ(w.left(), "");
}

// ---- what moves it ----

std::int64_t ends_after(world& w, client& c) {
    std::int64_t ms = 0;
    while ((c.replies().empty() || !c.replies()[0].complete) && ms < 5000) {
        w.pass_ms(10);
        ms += 10;
    }
    EXPECT_EQ(parsed(c.replies().at(0).message()).code(), -32004);
    return ms;
}

TEST(progress_extends, the_soft_deadline_up_to_the_hard_one) {
    for (const char* version : every_revision) {
        world w(timed());
        caller c(w, version);
        c.call("climb_far", progress_token);
        const std::int64_t ms = ends_after(w, c.to());
        EXPECT_TRUE(ms >= 700 && ms <= 720) << version << ' ' << ms;
        EXPECT_EQ(w.left(), "");
    }
}

TEST(progress_extends, nothing_where_the_tool_does_not_say_so_or_nobody_hears_it) {
    for (const bool heard : {true, false}) {
        world w(timed());
        caller c(w, "2026-07-28");
        c.call(heard ? "climb" : "climb_far", heard ? progress_token : "");
        const std::int64_t ms = ends_after(w, c.to());
        EXPECT_TRUE(ms >= 250 && ms <= 270) << ms;
    }
}

TEST(progress_extends, never_beyond_what_operator_and_client_grant) {
    for (const bool operators : {true, false}) {
        world w(timed([&](service_options& o) {
            o.request_timeout_ms_max = operators ? 400 : o.request_timeout_ms_max;
        }));
        caller c(w, "2026-07-28");
        c.call("climb_far", operators ? progress_token : joined(progress_token, wish("400")));
        const std::int64_t ms = ends_after(w, c.to());
        EXPECT_TRUE(ms >= 400 && ms <= 420) << ms;
    }
}

TEST(progress_extends, no_deadline_of_a_silent_call) {
    world_options o;
    o.more = [](server& s) {
        // One step, then silence: the soft limit counts from the step.
        s.tool("stalls")
            .timeout(milliseconds(250))
            .timeout_max(milliseconds(5000))
            .run([](context& ctx) -> task<tool_result> {
                co_await ctx.sleep(milliseconds(200));
                co_await ctx.progress(1);
                co_await ctx.until_stopped();
                co_return ctx.text("x");
            });
    };
    world w(o);
    caller c(w, "2026-07-28");
    c.call("stalls", progress_token);
    const std::int64_t ms = ends_after(w, c.to());
    EXPECT_TRUE(ms >= 450 && ms <= 470) << ms;
}

TEST(waiting_for_the_user, moves_soft_and_hard_alike) {
    world_options o;
    o.more = [](server& s) {
        s.tool("ask").timeout(milliseconds(200)).input(object().open()).run(&ask);
    };
    world w(o);
    legacy_peer peer(w, way::http, "2025-11-25");
    peer.call("1", R"({"wait":150,"limit":60000})");
    w.pass_ms(160);
    w.pass_ms(30'000);
    ASSERT_TRUE(peer.results("1").empty());
    peer.say({answer_to(peer.question(), "at last")});
    ASSERT_EQ(peer.results("1").size(), 1U);
    EXPECT_EQ(peer.results("1")[0], "said: at last");
    EXPECT_EQ(w.left(), "");
}

// ---- limits below it ----

using seen = std::vector<std::string>;

struct below {
    std::vector<std::string> seen;
    void note(std::string_view what) { seen.emplace_back(what); }
};

std::string_view kind_of(const result<int>& r) {
    return r ? "value" : r.error().kind == errc::timed_out ? "timed_out" : "cancelled";
}

task<int> naps(below& b, context& soon, milliseconds nap) {
    b.note("left " + std::to_string(soon.remaining().count() / 1'000'000));
    const bool whole = co_await soon.sleep(nap);
    b.note(whole ? "slept" : soon.why_stopped() == stop_cause::deadline ? "late" : "stopped");
    co_return 7;
}

task<tool_result> limited(below& b, context& ctx, json::view args) {
    const milliseconds limit(args["limit"].i64().value_or(100));
    const milliseconds nap(args["nap"].i64().value_or(50));
    auto work = [&b, nap](context& soon) { return naps(b, soon, nap); };
    const result<int> got = co_await ctx.within(limit, work);
    b.note(kind_of(got));
    // Only what was limited has been stopped.
    const bool go_on = co_await ctx.sleep(milliseconds(10));
    b.note(go_on ? "goes on" : "stopped as well");
    co_return ctx.text(got ? std::to_string(*got) : std::string(got.error().detail));
}

world_options with_limited(below& b) {
    world_options o;
    o.more = [&b](server& s) {
        s.tool("limited").input(object().open()).run([&b](context& ctx, json::view args) {
            return limited(b, ctx, args);
        });
    };
    return o;
}

TEST(within, what_is_in_time_gives_its_value) {
    below b;
    world w(with_limited(b));
    client& c = w.connect();
    c.send(modern_call("1", "limited"));
    w.pass_ms(100);
    EXPECT_EQ(parsed(c.replies().at(0).message()).text(), "7");
    EXPECT_EQ(b.seen, (seen{"left 100", "slept", "value", "goes on"}));
}

TEST(within, what_is_late_is_stopped_and_the_request_goes_on) {
    below b;
    world w(with_limited(b));
    client& c = w.connect();
    c.send(modern_call("1", "limited", R"({"nap":500})"));
    w.pass_ms(130);
    EXPECT_EQ(parsed(c.replies().at(0).message()).text(), "It took longer than it may");
    EXPECT_EQ(b.seen, (seen{"left 100", "late", "timed_out", "goes on"}));
    EXPECT_EQ(w.left(), "");
}

TEST(within, a_limit_is_no_more_than_what_the_request_has) {
    below b;
    world w(with_limited(b));
    client& c = w.connect();
    c.send(modern_call("1", "limited", R"({"nap":5000,"limit":3000})"));
    w.pass_ms(1010);
    EXPECT_EQ(c.replies().at(0).status, 504);
    EXPECT_EQ(b.seen, (seen{"left 1000", "late", "cancelled", "stopped as well"}));
    EXPECT_EQ(w.left(), "");
}

TEST(within, a_limit_without_time_stops_what_waits) {
    for (const char* limit : {"0", "-5"}) {
        below b;
        world w(with_limited(b));
        client& c = w.connect();
        c.send(modern_call("1", "limited", R"({"limit":)" + std::string(limit) + "}"));
        w.pass_ms(20);
        EXPECT_EQ(b.seen, (seen{"left 0", "late", "timed_out", "goes on"}));
    }
}

TEST(within, a_client_that_cancels_stops_what_is_limited) {
    below b;
    world w(with_limited(b));
    client& c = w.connect();
    c.send(modern_call("1", "limited", R"({"nap":500})"));
    c.peer().reset();
    w.settle();
    EXPECT_EQ(b.seen, (seen{"left 100", "stopped", "cancelled", "stopped as well"}));
    EXPECT_EQ(w.left(), "");
}

task<> forever(context& soon) { co_await soon.until_stopped(); }

task<> throws(context& soon) {
    co_await soon.yield();
    throw std::runtime_error("x");
}

task<result<int>> refuses(context& soon) {
    co_await soon.yield();
    co_return error(errc::denied, "no");
}

task<result<int>> waits_within(seen& got, context& soon) {
    const result<void> slow = co_await soon.within(milliseconds(500), forever);
    got.emplace_back(slow ? "?" : slow.error().detail);
    const result<void> quick = co_await soon.within(milliseconds(1), forever);
    got.emplace_back(quick ? "?" : quick.error().detail);
    co_return error(errc::denied, "no");
}

task<tool_result> nested(seen& got, context& ctx) {
    auto outer = [&got](context& soon) { return waits_within(got, soon); };
    const result<int> late = co_await ctx.within(milliseconds(50), outer);
    got.emplace_back(late ? "?" : late.error().detail);
    const result<int> refused = co_await ctx.within(milliseconds(50), refuses);
    got.emplace_back(refused ? "?" : refused.error().detail);
    try {
        const result<void> none = co_await ctx.within(milliseconds(50), throws);
        got.emplace_back(none ? "?" : none.error().detail);
    } catch (const std::runtime_error& e) {
        got.emplace_back(e.what());
    }
    co_return ctx.text("done");
}

TEST(within, limits_nest_and_pass_on_results_and_exceptions) {
    seen got;
    world_options o;
    o.more = [&got](server& s) {
        s.tool("nested").run([&got](context& ctx) { return nested(got, ctx); });
    };
    world w(o);
    client& c = w.connect();
    c.send(modern_call("1", "nested"));
    w.pass_ms(100);
    EXPECT_EQ(parsed(c.replies().at(0).message()).text(), "done");
    EXPECT_EQ(got, (seen{"The request was stopped", "The request was stopped",
                         "It took longer than it may", "no", "x"}));
    EXPECT_EQ(w.left(), "");
}

TEST(within, a_question_that_takes_too_long_is_taken_back) {
    for (const way how : {way::http, way::sse, way::pipe}) {
        world_options o;
        o.more = [](server& s) {
            s.tool("ask")
                .input(object().open())
                .run([](context& ctx, json::view args) -> task<tool_result> {
                    auto asks = [args](context& soon) { return ask(soon, args); };
                    auto answer = co_await ctx.within(milliseconds(100), asks);
                    co_return answer ? std::move(*answer) : ctx.error(answer.error());
                });
        };
        world w(o);
        legacy_peer peer(w, how, "2025-06-18");
        peer.call("1", R"({"limit":60000})");
        const std::string id = peer.question();
        w.pass_ms(110);
        EXPECT_EQ(peer.taken_back(), seen{id});
        ASSERT_EQ(peer.results("1").size(), 1U);
        EXPECT_EQ(peer.results("1")[0], "It took longer than it may");
    }
}

// ---- handlers that go on ----

world_options few_stragglers() {
    world_options o;
    o.set = [](service_options& to) {
        to.grace_ms = 200;
        to.stragglers_max = 2;
    };
    return o;
}

TEST(straggler, is_who_has_not_ended_when_the_grace_is_over) {
    world w(few_stragglers());
    client& c = w.connect();
    c.send(modern_call("1", "stubborn"));
    w.pass_ms(1190);
    EXPECT_EQ(c.replies().at(0).status, 504);
    EXPECT_EQ(w.engine->stragglers_here().now(), 0U);
    w.pass_ms(20);
    EXPECT_EQ(w.engine->stragglers_here().now(), 1U);
    w.on.gate.set();
    EXPECT_EQ(w.left(), "");
    EXPECT_EQ(w.engine->stragglers_here().now(), 0U);
    EXPECT_EQ(w.engine->stragglers_here().total(), 1U);
}

TEST(straggler, is_nobody_who_ends_in_time) {
    world w(few_stragglers());
    client& c = w.connect();
    c.send(modern_call("1", "watch"));
    w.pass_ms(5000);
    EXPECT_EQ(c.replies().at(0).status, 504);
    EXPECT_EQ(w.engine->stragglers_here().total(), 0U);
    EXPECT_EQ(w.left(), "");
}

TEST(straggler, whatever_stopped_it) {
    world w(few_stragglers());
    const std::string session = w.open_session("2025-06-18");
    const std::string other = w.open_session("2025-06-18");
    client& gone = w.connect();
    client& cancelled = w.connect();
    client& ended = w.connect();
    gone.send(modern_call("1", "stubborn"));
    cancelled.send(legacy_call(session, "1", "stubborn"));
    ended.send(legacy_call(other, "1", "stubborn"));
    w.pass_ms(10);
    gone.peer().reset();
    w.connect().ask(
        legacy_post(session, message("", "notifications/cancelled", R"("requestId":1)")));
    w.connect().ask(http_request("DELETE", {{"Mcp-Session-Id", other}}, ""));
    w.pass_ms(190);
    EXPECT_EQ(w.engine->stragglers_here().now(), 0U);
    w.pass_ms(20);
    EXPECT_EQ(w.engine->stragglers_here().now(), 3U);
    w.on.gate.set();
    EXPECT_EQ(w.left(), "");
    EXPECT_EQ(w.engine->stragglers_here().now(), 0U);
}

// A handler that never ends took memory with every call, for ever.
TEST(straggler, no_more_calls_of_a_handler_that_has_too_many) {
    world w(few_stragglers());
    client& c = w.connect();
    for (int i = 0; i < 2; ++i) {
        c.send(modern_call("1", "stubborn"));
        w.pass_ms(1300);
    }
    EXPECT_EQ(w.engine->stragglers_here().now(), 2U);
    for (const char* version : every_revision) {
        caller by(w, version);
        const parsed refused = by.ask("stubborn");
        EXPECT_EQ(refused.code(), -32006) << version;
        EXPECT_GE(refused["error"]["data"]["retryAfter"].i64().value_or(0), 1);
        EXPECT_EQ(by.to().replies().at(0).status, 503);
        // Others go on.
        EXPECT_EQ(by.ask("nap").text(), "slept");
    }
    w.on.gate.set();
    EXPECT_EQ(w.left(), "");
    w.on.gate.reset();
    c.send(modern_call("1", "stubborn"));
    EXPECT_EQ(w.engine->live_requests(), 1U);
    w.on.gate.set();
    EXPECT_EQ(w.left(), "");
}

task<tool_result> offload(seen& got, context& ctx) {
    auto work = [] { return 1; };
    try {
        co_await ctx.blocking(work);
        got.emplace_back("done");
    } catch (const std::runtime_error& e) {
        got.emplace_back(e.what());
    }
    co_return ctx.text("late");
}

// Where the system gave no helper thread, handlers asked for one every millisecond, for ever.
TEST(blocking, that_no_helper_takes_ends_after_the_deadline) {
    seen got;
    world_options o;
    o.more = [&got](server& s) {
        s.tool("offload").run([&got](context& ctx) { return offload(got, ctx); });
    };
    world w(o);
    w.helpers.full = true;
    client& c = w.connect();
    c.send(modern_call("1", "offload"));
    w.pass_ms(1010);
    EXPECT_EQ(c.replies().at(0).status, 504);
    EXPECT_TRUE(got.empty());
    w.pass_ms(1000);
    EXPECT_EQ(got, (seen{"no helper thread took the work"}));
    EXPECT_EQ(w.left(), "");
    // Who was stopped may have to tidy up.
    c.send(modern_call("2", "offload"));
    w.pass_ms(1500);
    w.helpers.full = false;
    w.pass_ms(10);
    EXPECT_EQ(got.back(), "done");
    EXPECT_EQ(w.left(), "");
}

TEST(task_work, has_a_limit_of_the_operator) {
    world_options o;
    o.more = [](server& s) {
        s.tool("work").as_task(task_support::optional).run([](context& ctx) -> task<tool_result> {
            co_await ctx.yield();
            const auto ms = ctx.remaining().count() / 1'000'000;
            ctx.host().resource_updated("left:" + std::to_string(ms));
            co_await ctx.until_stopped();
            co_return ctx.text("x");
        });
    };
    o.set = [](service_options& to) { to.task_timeout_ms_max = 3000; };
    world w(o);
    const std::string session = w.open_session("2025-11-25");
    client& c = w.connect();
    const parsed made(c.ask_message(legacy_post(
        session, message("1", "tools/call", call_params("work", "{}") + R"(,"task":{})"))));
    const std::string id(made["result"]["task"]["taskId"].str());
    const auto status = [&] {
        return std::string(c.ask_message(legacy_post(
            session, message("2", "tasks/get", R"("taskId":")" + id + "\"")))["result"]["status"]
                               .str());
    };
    w.pass_ms(2990);
    EXPECT_EQ(status(), "working");
    w.pass_ms(20);
    EXPECT_EQ(status(), "failed");
    EXPECT_EQ(w.left(), "");
}

}  // namespace
}  // namespace pillion::mcp::testing
