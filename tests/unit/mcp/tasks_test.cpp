// Tasks over a simulated network: what races, what expires, what is too much, and what is left.
#include <gtest/gtest.h>

#include <pillion/ask.hpp>

#include "mcp/memory_task_store.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

using std::chrono::milliseconds;

task<tool_result> job(context& ctx, json::view args) {
    const milliseconds time(args["ms"].i64().value_or(0));
    const std::int64_t steps = args["steps"].i64().value_or(1);
    for (std::int64_t i = 1; i <= steps; ++i) {
        const bool whole = co_await ctx.sleep(time / steps);
        if (!whole) {
            co_return ctx.error("stopped");
        }
        const std::string text = "step " + std::to_string(i);
        co_await ctx.progress(static_cast<double>(i), static_cast<double>(steps), text);
    }
    co_return ctx.text("done");
}

// Hears that it is to stop, and goes on for a while.
task<tool_result> deaf(context& ctx) {
    co_await ctx.until_stopped();
    for (int turns = 0; turns < 5; ++turns) {
        co_await ctx.yield();
    }
    co_return ctx.text("finished all the same");
}

task<tool_result> ask_twice(context& ctx, json::view args) {
    const milliseconds pause(args["ms"].i64().value_or(0));
    if (pause.count() > 0) {
        co_await ctx.sleep(pause);
    }
    elicit_request form("Which?");
    form.key("k").required("city", string()).limit(milliseconds(args["limit"].i64().value_or(500)));
    const auto first = co_await ctx.elicit(form);
    if (!first) {
        co_return ctx.error(first.error());
    }
    const auto second = co_await ctx.elicit(form);
    co_return second ? ctx.text(first->content["city"].str(), "+", second->content["city"].str())
                     : ctx.error(second.error());
}

task<tool_result> throws_at_once(context& ctx) {
    co_await ctx.yield();
    throw std::runtime_error("secret of the handler");
}

tool_result at_once(context& ctx) { return ctx.text("at once"); }

void add(server& s) {
    s.tool("plain").as_task(task_support::optional).run(&at_once);
    s.tool("job").input(object().open()).as_task(task_support::optional).run(&job);
    s.tool("must").input(object().open()).as_task(task_support::required).run(&job);
    s.tool("short")
        .input(object().open())
        .as_task(task_support::optional)
        .task_ttl(milliseconds(400))
        .run(&job);
    s.tool("deaf").as_task(task_support::optional).run(&deaf);
    s.tool("ask").input(object().open()).as_task(task_support::optional).run(&ask_twice);
    s.tool("throws").as_task(task_support::optional).run(&throws_at_once);
}

world_options with_jobs() {
    world_options o;
    o.more = &add;
    memory_task_store::caps most;
    most.tasks = 20;
    most.tasks_per_owner = 10;
    o.tasks = std::make_shared<memory_task_store>(most);
    return o;
}

// A client of either dialect.
class task_peer {
 public:
    task_peer(world& in, bool modern) : world_(in), modern_(modern) {
        if (!modern) {
            const std::string hello =
                message("0", "initialize",
                        R"("protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},)"
                        R"("clientInfo":{"name":"t","version":"1"})");
            session_ = in.connect().ask(http_request("POST", {}, hello)).headers["mcp-session-id"];
        }
    }

    std::string bytes(std::string_view method, std::string_view name, std::string_view params) {
        const std::string id = std::to_string(++ids_);
        if (!modern_) {
            return legacy_post(session_, message(id, method, params));
        }
        const std::string able =
            R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
            R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{},)"
            R"("extensions":{"io.modelcontextprotocol/tasks":{}}}})";
        return modern_post(method, name, message(id, method, joined(able, params)));
    }
    std::string call_bytes(std::string_view tool, std::string_view arguments = "{}") {
        const std::string params = call_params(tool, arguments);
        return bytes("tools/call", tool, modern_ ? params : params + R"(,"task":{})");
    }
    parsed ask(std::string_view method, std::string_view id, std::string_view more = {}) {
        return world_.connect().ask_message(
            bytes(method, id, joined(R"("taskId":")" + std::string(id) + "\"", more)));
    }
    // The id of the task that a call has become; "" when it has not.
    std::string begin(std::string_view tool, std::string_view arguments = "{}") {
        const parsed p = world_.connect().ask_message(call_bytes(tool, arguments));
        const json::view result = p["result"];
        return std::string((modern_ ? result : result["task"])["taskId"].str());
    }
    std::string status(std::string_view id) {
        return std::string(ask("tasks/get", id)["result"]["status"].str());
    }
    // The text of the result, however it is fetched.
    std::string result(std::string_view id) {
        const parsed p = ask(modern_ ? "tasks/get" : "tasks/result", id);
        const json::view from = modern_ ? p["result"]["result"] : p["result"];
        return std::string(from["content"][std::size_t{0}]["text"].str());
    }
    bool modern() const { return modern_; }
    const std::string& session() const { return session_; }

 private:
    world& world_;
    const bool modern_;
    std::string session_;
    int ids_ = 0;
};

class task_worlds : public ::testing::TestWithParam<bool> {
 public:
    world w{with_jobs()};
    task_peer peer{w, GetParam()};

    void expect_nothing_runs() {
        EXPECT_TRUE(w.quiet());
        EXPECT_EQ(w.engine->tasks().running(), 0U);
        EXPECT_EQ(w.engine->questions(), 0U);
    }
};

TEST_P(task_worlds, the_answer_comes_before_the_work_is_done) {
    const std::string id = peer.begin("job", R"({"ms":100})");
    ASSERT_FALSE(id.empty());
    EXPECT_EQ(peer.status(id), "working");
    w.pass_ms(99);
    EXPECT_EQ(peer.status(id), "working");
    w.pass_ms(2);
    EXPECT_EQ(peer.status(id), "completed");
    EXPECT_EQ(peer.result(id), "done");
    expect_nothing_runs();
}

TEST_P(task_worlds, it_is_not_bound_by_the_time_limit_of_calls) {
    const std::string id = peer.begin("job", R"({"ms":100000})");
    for (int i = 0; i < 3; ++i) {
        w.pass_ms(33'000);
        EXPECT_EQ(peer.status(id), "working");
    }
    w.pass_ms(2000);
    EXPECT_EQ(peer.status(id), "completed");
}

TEST_P(task_worlds, who_called_may_go_away_at_any_byte_of_the_answer) {
    // The reply is on its way when the client hangs up: the work goes on.
    client& c = w.connect();
    c.send(peer.call_bytes("job", R"({"ms":50})"));
    EXPECT_EQ(w.engine->tasks().running(), 1U);
    c.peer().reset();
    w.settle();
    EXPECT_EQ(w.engine->tasks().running(), 1U);
    w.pass_ms(51);
    expect_nothing_runs();
}

TEST_P(task_worlds, cancelling_races_the_result) {
    // At every millisecond around the end, and several in the same turn.
    for (std::int64_t at = 8; at <= 12; ++at) {
        const std::string id = peer.begin("job", R"({"ms":10})");
        ASSERT_FALSE(id.empty());
        client& c = w.connect();
        c.peer().send_after(at * 1'000'000,
                            peer.bytes("tasks/cancel", id, R"("taskId":")" + id + "\""));
        w.pass_ms(at + 2);
        const std::string end = peer.status(id);
        EXPECT_TRUE(end == "completed" || end == "cancelled") << at << ": " << end;
        if (end == "completed") {
            EXPECT_EQ(peer.result(id), "done");
        }
        w.pass_ms(20);
        EXPECT_EQ(peer.status(id), end) << "an ended task has changed";
        const auto replies = c.replies();
        ASSERT_EQ(replies.size(), 1U);
        const parsed answer(replies[0].message());
        // An acknowledgement in 2026-07-28; before, an error if it had ended.
        EXPECT_EQ(answer["result"].exists(), peer.modern() || end == "cancelled");
        expect_nothing_runs();
    }
}

TEST_P(task_worlds, what_is_said_while_being_cancelled_is_dropped) {
    const std::string id = peer.begin("deaf");
    client& c = w.connect();
    c.send(peer.bytes("tasks/cancel", id, R"("taskId":")" + id + "\""));
    EXPECT_EQ(peer.status(id), "cancelled");
    expect_nothing_runs();
    EXPECT_EQ(peer.status(id), "cancelled");
}

TEST_P(task_worlds, the_time_to_live_ends_everything) {
    const std::string id = peer.begin("short", R"({"ms":100000})");
    w.pass_ms(399);
    EXPECT_EQ(peer.status(id), "working");
    w.pass_ms(2);
    EXPECT_EQ(peer.ask("tasks/get", id).code(), -32602);
    expect_nothing_runs();
}

TEST_P(task_worlds, a_result_is_kept_until_then) {
    const std::string id = peer.begin("short", R"({"ms":10})");
    w.pass_ms(390);
    EXPECT_EQ(peer.result(id), "done");
    w.pass_ms(20);
    EXPECT_EQ(peer.ask("tasks/get", id).code(), -32602);
    EXPECT_EQ(peer.ask("tasks/cancel", id).code(), -32602);
    w.pass_ms(60'000);
    EXPECT_EQ(w.service->tasks().size(), 0U);
}

TEST_P(task_worlds, what_a_handler_throws_is_a_failure_without_its_text) {
    const std::string id = peer.begin("throws");
    EXPECT_EQ(peer.status(id), "failed");
    const http_reply raw = w.connect().ask(
        peer.bytes(peer.modern() ? "tasks/get" : "tasks/result", id, R"("taskId":")" + id + "\""));
    EXPECT_EQ(raw.body.find("secret"), raw.body.npos);
    EXPECT_NE(raw.body.find("-32603"), raw.body.npos);
    expect_nothing_runs();
}

TEST_P(task_worlds, messages_are_told_now_and_then_and_the_last_one_stays) {
    const std::string id = peer.begin("job", R"({"ms":100,"steps":100})");
    std::string last;
    int changes = 0;
    for (int ms = 0; ms < 100; ++ms) {
        const std::string now(peer.ask("tasks/get", id)["result"]["statusMessage"].str());
        changes += now == last ? 0 : 1;
        last = now;
        w.pass_ms(1);
    }
    EXPECT_GE(changes, 1);
    EXPECT_LE(changes, 3);
    w.pass_ms(5);
    EXPECT_EQ(peer.ask("tasks/get", id)["result"]["statusMessage"].str(), "step 100");
}

TEST_P(task_worlds, too_many_are_refused_until_old_ones_have_gone) {
    // Sessions have a share of their own; modern clients that nobody knows share the whole.
    const int room = peer.modern() ? 20 : 10;
    for (int i = 0; i < room; ++i) {
        EXPECT_FALSE(peer.begin("short", R"({"ms":10})").empty());
    }
    const parsed must = w.connect().ask_message(peer.call_bytes("must", R"({"ms":10})"));
    EXPECT_EQ(must.code(), -32003);
    EXPECT_GT(must["error"]["data"]["retryAfter"].i64().value_or(0), 0);
    client& c = w.connect();
    c.send(peer.call_bytes("job", R"({"ms":10})"));
    w.pass_ms(11);
    const parsed may(c.replies().back().message());
    // Where the server decides it answers without a task; a client that asked for one hears no.
    EXPECT_EQ(may.code(), peer.modern() ? 0 : -32003);
    EXPECT_EQ(may.text(), peer.modern() ? "done" : "");
    w.pass_ms(60'000);
    EXPECT_FALSE(peer.begin("must", R"({"ms":10})").empty());
    w.pass_ms(20);
    expect_nothing_runs();
}

TEST_P(task_worlds, a_question_has_its_own_time) {
    const std::string id = peer.begin("ask", R"({"limit":200})");
    EXPECT_EQ(peer.status(id), "input_required");
    w.pass_ms(199);
    EXPECT_EQ(peer.status(id), "input_required");
    w.pass_ms(2);
    EXPECT_EQ(peer.status(id), peer.modern() ? "completed" : "failed");
    EXPECT_EQ(peer.result(id), "The client did not answer in time");
    expect_nothing_runs();
}

TEST_P(task_worlds, a_cancelled_task_takes_its_question_back) {
    const std::string id = peer.begin("ask");
    peer.ask("tasks/cancel", id);
    EXPECT_EQ(peer.status(id), "cancelled");
    EXPECT_FALSE(peer.ask("tasks/get", id)["result"]["inputRequests"].exists());
    expect_nothing_runs();
}

TEST_P(task_worlds, nobody_is_asked_while_the_server_ends) {
    const std::string id = peer.begin("ask");
    w.engine->drain();
    expect_nothing_runs();
}

TEST_P(task_worlds, stopping_the_server_stops_its_tasks) {
    peer.begin("job", R"({"ms":100000})");
    peer.begin("deaf");
    peer.begin("ask");
    EXPECT_EQ(w.engine->tasks().running(), 3U);
    w.engine->stop_all();
    expect_nothing_runs();
}

INSTANTIATE_TEST_SUITE_P(both, task_worlds, ::testing::Bool(), [](const auto& which) {
    return which.param ? std::string("r2026_07_28") : std::string("r2025_11_25");
});

std::string city(std::string_view name) {
    return R"({"action":"accept","content":{"city":")" + std::string(name) + "\"}}";
}

// Those of 2025-11-25 kept the place of the call that began them.
TEST(task_limits, a_task_is_no_request_under_way_of_its_caller) {
    world_options o = with_jobs();
    o.limit.address_in_flight.max = 1;
    o.limit.address_in_flight.local = true;
    world w(o);
    for (const bool modern : {true, false}) {
        task_peer peer(w, modern);
        EXPECT_FALSE(peer.begin("job", R"({"ms":100})").empty()) << modern;
        EXPECT_FALSE(peer.begin("job", R"({"ms":100})").empty()) << modern;
    }
}

// Whoever had too much to do could not be told to do less.
TEST(task_limits, answers_and_cancellations_are_let_in_under_any_load) {
    world_options o = with_jobs();
    o.limit.requests_max = 1;
    world w(o);
    for (const bool modern : {true, false}) {
        task_peer peer(w, modern);
        const std::string asks = peer.begin("ask");
        client& busy = w.connect();
        busy.send(modern_call("1", "nap", R"({"ms":100})"));
        EXPECT_EQ(peer.ask("tasks/get", asks).code(), -32006);
        if (modern) {
            const std::string answer = R"("inputResponses":{"k":)" + city("Rome") + "}";
            EXPECT_TRUE(peer.ask("tasks/update", asks, answer)["result"].exists());
        }
        EXPECT_TRUE(peer.ask("tasks/cancel", asks)["result"].exists()) << modern;
        w.pass_ms(101);
        EXPECT_EQ(parsed(busy.replies().at(0).message()).text(), "slept");
        EXPECT_EQ(peer.status(asks), "cancelled");
    }
}

TEST(modern_tasks, keys_are_never_used_twice) {
    world w(with_jobs());
    task_peer peer(w, true);
    const std::string id = peer.begin("ask");
    std::vector<std::string> seen;
    for (const char* answer : {"Rome", "Paris"}) {
        const parsed now = peer.ask("tasks/get", id);
        const json::view asked = now["result"]["inputRequests"];
        ASSERT_EQ(asked.size(), 1U);
        std::string key;
        for (const json::member one : asked.members()) {
            key = one.key;
        }
        for (const std::string& before : seen) {
            EXPECT_NE(key, before);
            // Late answers to the one before mean nothing.
            peer.ask("tasks/update", id,
                     R"("inputResponses":{")" + before + "\":" + city("late") + "}");
        }
        peer.ask("tasks/update", id, R"("inputResponses":{")" + key + "\":" + city(answer) + "}");
        seen.push_back(key);
    }
    EXPECT_EQ(peer.result(id), "Rome+Paris");
}

task<bool> becomes_a_task(context& ctx) { co_return ctx.begin_task(); }

task<tool_result> asks_meanwhile(context& ctx) {
    elicit_request first("Which?");
    first.key("k").required("city", string());
    elicit_request second("And?");
    second.key("l").required("city", string());
    auto one = ctx.elicit(first);
    auto begun = becomes_a_task(ctx);
    auto two = ctx.elicit(second);
    const auto all = co_await ctx.all(one, two, begun);
    const auto& a = std::get<0>(all);
    const auto& b = std::get<1>(all);
    co_return a&& b ? ctx.text(a->content["city"].str(), "+", b->content["city"].str())
                    : ctx.error("no answer");
}

// The task was done at once, with the questions for a result.
TEST(modern_tasks, questions_are_the_task_s_where_the_call_becomes_one_beside_them) {
    world_options o = with_jobs();
    o.more = [](server& s) {
        s.tool("both").as_task(task_support::optional).task_begins_later().run(&asks_meanwhile);
    };
    world w(o);
    task_peer peer(w, true);
    const std::string id = peer.begin("both");
    ASSERT_FALSE(id.empty());
    EXPECT_EQ(peer.status(id), "input_required");
    peer.ask("tasks/update", id,
             R"("inputResponses":{"k":)" + city("Rome") + R"(,"l":)" + city("Oslo") + "}");
    EXPECT_EQ(peer.result(id), "Rome+Oslo");
}

TEST(modern_tasks, the_first_of_two_answers_counts) {
    world w(with_jobs());
    task_peer peer(w, true);
    const std::string id = peer.begin("ask");
    client& c = w.connect();
    client& d = w.connect();
    const auto update = [&](std::string_view name) {
        return peer.bytes("tasks/update", id,
                          R"("taskId":")" + id + R"(","inputResponses":{"k":)" + city(name) + "}");
    };
    c.peer().send(update("one"));
    d.peer().send(update("two"));
    w.settle();
    EXPECT_EQ(parsed(c.replies()[0].body)["result"]["resultType"].str(), "complete");
    EXPECT_EQ(parsed(d.replies()[0].body)["result"]["resultType"].str(), "complete");
    EXPECT_EQ(peer.status(id), "input_required");
    peer.ask("tasks/update", id, R"("inputResponses":{"k-2":)" + city("more") + "}");
    const std::string result = peer.result(id);
    EXPECT_TRUE(result == "one+more" || result == "two+more") << result;
}

TEST(modern_tasks, calls_that_do_not_wait_are_answered_at_once) {
    world w(with_jobs());
    task_peer peer(w, true);
    const parsed plain = w.connect().ask_message(peer.call_bytes("plain"));
    EXPECT_EQ(plain["result"]["resultType"].str(), "complete");
    EXPECT_EQ(plain.text(), "at once");
#if !PILLION_CORO_TRAMPOLINE
    // Where coroutines return through the ready queue, every one of them waits.
    const parsed coroutine = w.connect().ask_message(peer.call_bytes("job", R"({"steps":0})"));
    EXPECT_EQ(coroutine.text(), "done");
#endif
    EXPECT_EQ(w.service->tasks().size(), 0U);
}

TEST(classic_tasks, every_call_with_the_wish_becomes_one) {
    world w(with_jobs());
    task_peer peer(w, false);
    EXPECT_EQ(peer.result(peer.begin("plain")), "at once");
}

TEST(modern_tasks, a_client_that_waits_for_its_answer_may_still_hang_up) {
    // Not a task yet: a call that its client leaves is cancelled, as ever in 2026-07-28.
    world w(with_jobs());
    client& c = w.connect();
    c.send(modern_call("1", "job", R"({"ms":100})"));
    EXPECT_EQ(w.engine->tasks().running(), 0U);
    c.peer().reset();
    EXPECT_TRUE(w.quiet());
}

TEST(classic_tasks, whoever_waits_for_the_result_hears_of_its_end) {
    world w(with_jobs());
    task_peer peer(w, false);
    const std::string id = peer.begin("job", R"({"ms":100})");
    std::vector<client*> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.push_back(&w.connect());
        waiting.back()->send(peer.bytes("tasks/result", id, R"("taskId":")" + id + "\""));
    }
    w.pass_ms(101);
    for (const client* c : waiting) {
        ASSERT_EQ(c->replies().size(), 1U);
        EXPECT_EQ(parsed(c->replies()[0].message()).text(), "done");
    }
    EXPECT_TRUE(w.quiet());
}

TEST(classic_tasks, whoever_waits_hears_that_it_has_expired) {
    world w(with_jobs());
    task_peer peer(w, false);
    const std::string id = peer.begin("short", R"({"ms":100000})");
    client& c = w.connect();
    c.send(peer.bytes("tasks/result", id, R"("taskId":")" + id + "\""));
    w.pass_ms(60'000);
    ASSERT_EQ(c.replies().size(), 1U);
    EXPECT_EQ(parsed(c.replies()[0].message()).code(), -32602);
    EXPECT_TRUE(w.quiet());
}

// Of the events that are requests of the server's.
std::vector<std::string> question_ids(const client& c) {
    std::vector<std::string> all;
    for (const http_reply& r : c.replies()) {
        for (const std::string& event : r.events) {
            const parsed p(event);
            if (p["method"].str() == "elicitation/create") {
                all.emplace_back(p["id"].str());
            }
        }
    }
    return all;
}

// The first of them; "" when there is none.
std::string question_id(const client& c) {
    const auto all = question_ids(c);
    return all.empty() ? std::string() : all.front();
}

TEST(classic_tasks, a_question_is_on_one_stream_at_a_time) {
    world w(with_jobs());
    task_peer peer(w, false);
    const std::string id = peer.begin("ask");
    const std::string wait_params = R"("taskId":")" + id + "\"";
    client& first = w.connect();
    first.send(peer.bytes("tasks/result", id, wait_params));
    client& second = w.connect();
    second.send(peer.bytes("tasks/result", id, wait_params));
    const std::string question = question_id(first);
    ASSERT_FALSE(question.empty());
    EXPECT_TRUE(question_id(second).empty());
    // An answer from a stranger's session does not count.
    task_peer stranger(w, false);
    const std::string answer =
        R"({"jsonrpc":"2.0","id":")" + question + R"(","result":)" + city("Rome") + "}";
    w.connect().send(legacy_post(stranger.session(), answer));
    EXPECT_EQ(w.engine->questions(), 1U);
    EXPECT_EQ(peer.status(id), "input_required");
    w.connect().send(legacy_post(peer.session(), answer));
    // The next one goes to the newest.
    const std::string next = question_id(second);
    ASSERT_FALSE(next.empty());
    EXPECT_NE(next, question);
    w.connect().send(legacy_post(peer.session(), R"({"jsonrpc":"2.0","id":")" + next +
                                                     R"(","result":)" + city("Paris") + "}"));
    EXPECT_EQ(peer.result(id), "Rome+Paris");
    EXPECT_TRUE(w.quiet());
}

// Answers both questions of "ask", which are on the stream of `c`.
void expect_questions_on(world& w, task_peer& peer, client& c, const std::string& id) {
    for (const char* name : {"Rome", "Paris"}) {
        const std::vector<std::string> asked = question_ids(c);
        ASSERT_FALSE(asked.empty()) << name;
        w.connect().send(legacy_post(peer.session(), R"({"jsonrpc":"2.0","id":")" + asked.back() +
                                                         R"(","result":)" + city(name) + "}"));
    }
    EXPECT_EQ(peer.result(id), "Rome+Paris");
    EXPECT_TRUE(w.quiet());
}

// It kept its place, and the task's question was said to nobody. A stream with a question may be
// come back to; who asks anew instead hears it there.
TEST(classic_tasks, a_question_goes_to_who_asks_anew_when_the_first_has_hung_up) {
    for (const bool resets : {false, true}) {
        for (const int ms : {0, 100}) {
            world w(with_jobs());
            task_peer peer(w, false);
            const std::string id = peer.begin("ask", R"({"ms":)" + std::to_string(ms) + "}");
            const std::string wait_params = R"("taskId":")" + id + "\"";
            client& left = w.connect();
            left.send(peer.bytes("tasks/result", id, wait_params));
            resets ? left.peer().reset() : left.peer().finish();
            w.settle();
            EXPECT_EQ(w.engine->live_requests(), ms == 0 ? 2U : 1U);
            w.pass_ms(ms + 1);
            EXPECT_EQ(peer.status(id), "input_required");
            client& c = w.connect();
            c.send(peer.bytes("tasks/result", id, wait_params));
            expect_questions_on(w, peer, c, id);
        }
    }
}

}  // namespace
}  // namespace pillion::mcp::testing
