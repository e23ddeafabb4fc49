// The pace of progress on a virtual clock: a burst, then one message per interval, the newest; what
// is held back comes when the interval is over or right before the answer, and never after it.
#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

constexpr std::int64_t interval_ms = limits::progress_interval_ms;
constexpr std::int64_t burst = limits::progress_burst;

// Tells 1…count with a pause between, `text` as the message of each, then sleeps.
task<tool_result> tell(context& ctx, json::view args) {
    const std::int64_t count = args["count"].i64().value_or(burst + 1);
    const std::chrono::milliseconds pause(args["pause"].i64().value_or(0));
    for (std::int64_t i = 1; i <= count; ++i) {
        const std::string text(static_cast<std::size_t>(args["bytes"].i64().value_or(0) + i % 7),
                               'a');
        co_await ctx.progress(static_cast<double>(i), static_cast<double>(count), text);
        if (pause.count() > 0) {
            co_await ctx.sleep(pause);
        }
    }
    const std::chrono::milliseconds nap(args["nap"].i64().value_or(0));
    if (nap.count() > 0) {
        co_await ctx.sleep(nap);
    }
    if (args["fail"].boolean()) {
        co_return ctx.rpc_error(7, "failed");
    }
    co_return ctx.text("done");
}

// Reports, asks, and reports again.
task<tool_result> tell_and_ask(context& ctx) {
    for (std::int64_t i = 1; i <= burst + 5; ++i) {
        co_await ctx.progress(static_cast<double>(i));
    }
    elicit_request form("Which?");
    form.required("city", string());
    const auto got = co_await ctx.elicit(form);
    co_return got ? ctx.text("answered") : ctx.error(got.error());
}

// A burst and one more, which is held back; at the gate, another one.
task<tool_result> tell_at(coro::event& gate, context& ctx) {
    for (std::int64_t i = 1; i <= burst + 1; ++i) {
        co_await ctx.progress(static_cast<double>(i));
    }
    co_await gate.wait();
    co_await ctx.progress(100);
    co_await ctx.sleep(std::chrono::seconds(1));
    co_return ctx.text("done");
}

world_options with_tell(coro::event* gate = nullptr) {
    world_options o;
    o.timeout_ms = 60'000;
    o.more = [gate](server& s) {
        if (gate != nullptr) {
            s.tool("tell_at").run([gate](context& ctx) { return tell_at(*gate, ctx); });
        }
        s.tool("tell").input(object().open()).run(&tell);
        s.tool("tell_alive").heartbeat(std::chrono::seconds(1)).input(object().open()).run(&tell);
        s.tool("tell_ask").run(&tell_and_ask);
    };
    return o;
}

// What was told, and whether the answer is here: "1 2 3 |" with the answer behind the bar.
struct heard {
    std::vector<double> values;
    std::vector<std::string> texts;
    std::size_t answers = 0;
    bool answer_last = true;
};

heard read(const std::vector<std::string>& messages) {
    heard out;
    for (const std::string& one : messages) {
        const parsed p(one);
        if (p["method"].str() == "notifications/progress") {
            out.values.push_back(p["params"]["progress"].num());
            out.texts.emplace_back(p["params"]["message"].str());
            out.answer_last = out.answers == 0;
        } else {
            ++out.answers;
        }
    }
    return out;
}

heard read(client& c) {
    const auto replies = c.replies();
    return replies.empty() ? heard() : read(replies.back().events);
}

std::vector<double> first(std::int64_t count) {
    std::vector<double> out;
    for (std::int64_t i = 1; i <= count; ++i) {
        out.push_back(static_cast<double>(i));
    }
    return out;
}

class pacing : public ::testing::TestWithParam<const char*> {
 public:
    world w{with_tell()};
    std::string session = *GetParam() == '\0' ? std::string() : w.open_session(GetParam());
    client& c = w.connect();

    void call(const std::string& arguments, const char* tool = "tell") {
        c.send(session.empty() ? modern_call("1", tool, arguments, progress_token)
                               : legacy_call(session, "1", tool, arguments, progress_token));
    }
};

TEST_P(pacing, a_burst_goes_out_at_once) {
    call(R"({"count":)" + std::to_string(burst) + R"(,"nap":1000})");
    EXPECT_EQ(read(c).values, first(burst));
    w.pass_ms(1100);
    EXPECT_EQ(read(c).values, first(burst));
    EXPECT_EQ(read(c).answers, 1U);
    EXPECT_EQ(w.left(), "");
}

TEST_P(pacing, the_last_value_comes_before_the_answer) {
    call(R"({"count":1000})");
    std::vector<double> wanted = first(burst);
    wanted.push_back(1000);
    const heard all = read(c);
    EXPECT_EQ(all.values, wanted);
    EXPECT_EQ(all.answers, 1U);
    EXPECT_TRUE(all.answer_last);
    EXPECT_EQ(all.texts.back(), *GetParam() == '\0' || GetParam() >= std::string("2025")
                                    ? std::string(1000 % 7, 'a')
                                    : "");
    w.pass_ms(1000);
    EXPECT_EQ(read(c).values, wanted);
    EXPECT_EQ(w.left(), "");
}

TEST_P(pacing, it_comes_before_an_error_too) {
    call(R"({"count":100,"fail":true})");
    const heard all = read(c);
    EXPECT_EQ(all.values.back(), 100);
    EXPECT_TRUE(all.answers == 1 && all.answer_last);
    EXPECT_EQ(w.left(), "");
}

TEST_P(pacing, what_is_held_back_comes_when_the_interval_is_over) {
    call(R"({"count":)" + std::to_string(burst + 3) + R"(,"nap":10000})");
    EXPECT_EQ(read(c).values, first(burst));
    w.pass_ms(interval_ms - 2);
    EXPECT_EQ(read(c).values, first(burst));
    w.pass_ms(4);
    std::vector<double> wanted = first(burst);
    wanted.push_back(static_cast<double>(burst + 3));
    EXPECT_EQ(read(c).values, wanted);
    w.pass_ms(9000);
    EXPECT_EQ(read(c).values, wanted);
    EXPECT_EQ(read(c).answers, 0U);
    w.pass_ms(2000);
    EXPECT_EQ(read(c).values, wanted);
    EXPECT_EQ(read(c).answers, 1U);
    EXPECT_EQ(w.left(), "");
}

TEST_P(pacing, updates_an_interval_apart_all_get_out) {
    call(R"({"count":100,"pause":)" + std::to_string(interval_ms) + "}");
    w.pass_ms(100 * (interval_ms + 2));
    EXPECT_EQ(read(c).values, first(100));
    EXPECT_EQ(w.left(), "");
}

TEST_P(pacing, a_hasty_handler_is_thinned_out_to_one_per_interval) {
    for (const std::int64_t pause : {1, 3, 10, 24}) {
        client& other = w.connect();
        const std::string arguments = R"({"count":1000,"pause":)" + std::to_string(pause) + "}";
        const std::int64_t begun = w.engine->now_ms();
        other.send(session.empty() ? modern_call("1", "tell", arguments, progress_token)
                                   : legacy_call(session, "1", "tell", arguments, progress_token));
        while (!w.quiet()) {
            w.pass_ms(10);
        }
        const std::int64_t took = w.engine->now_ms() - begun;
        const heard all = read(other);
        const auto count = static_cast<std::int64_t>(all.values.size());
        EXPECT_LE(count, burst + took / interval_ms + 2) << pause;
        EXPECT_GE(count, took / interval_ms - 2) << pause;
        EXPECT_EQ(all.values.back(), 1000) << pause;
        EXPECT_TRUE(std::is_sorted(all.values.begin(), all.values.end()));
        EXPECT_EQ(std::adjacent_find(all.values.begin(), all.values.end()), all.values.end());
        EXPECT_TRUE(all.answers == 1 && all.answer_last);
    }
    EXPECT_EQ(w.left(), "");
}

// Silence earns a new burst, and not more than one.
TEST_P(pacing, a_pause_earns_a_new_burst) {
    call(R"({"count":)" + std::to_string(2 * burst + 10) + R"(,"pause":1})");
    w.pass_ms(5000);
    const std::size_t hasty = read(c).values.size();
    EXPECT_LE(hasty, static_cast<std::size_t>(burst) + 4);
    client& next = w.connect();
    const std::string again = R"({"count":)" + std::to_string(burst) + R"(,"nap":10})";
    next.send(session.empty() ? modern_call("2", "tell", again, progress_token)
                              : legacy_call(session, "2", "tell", again, progress_token));
    w.pass_ms(20);
    EXPECT_EQ(read(next).values, first(burst));  // each request has its own
    EXPECT_EQ(w.left(), "");
}

TEST_P(pacing, a_cancelled_call_tells_nothing_more) {
    call(R"({"count":)" + std::to_string(burst + 1) + R"(,"nap":10000})");
    if (session.empty()) {
        c.peer().reset();
        w.settle();
    } else {
        w.connect().send(
            legacy_post(session, message("", "notifications/cancelled", R"("requestId":1)")));
    }
    w.pass_ms(20'000);
    EXPECT_EQ(read(c).values, first(burst));
    EXPECT_EQ(read(c).answers, 0U);
    EXPECT_EQ(w.left(), "");
}

TEST_P(pacing, the_deadline_lets_it_go_first) {
    call(R"({"count":3000,"pause":24})");
    w.pass_ms(60'100);
    const heard all = read(c);
    EXPECT_EQ(all.answers, 1U);
    EXPECT_TRUE(all.answer_last);
    EXPECT_GE(all.values.back(), 2300);
    EXPECT_EQ(w.left(), "");
}

TEST_P(pacing, signs_of_life_wait_for_what_is_held_back) {
    call(R"({"count":)" + std::to_string(burst + 1) + R"(,"nap":3500})", "tell_alive");
    w.pass_ms(500);
    std::vector<double> wanted = first(burst + 1);
    EXPECT_EQ(read(c).values, wanted);
    w.pass_ms(3500);
    const heard all = read(c);
    ASSERT_EQ(all.values.size(), static_cast<std::size_t>(burst) + 4);
    EXPECT_NEAR(all.values.back(), static_cast<double>(burst) + 1.003, 1e-9);
    EXPECT_TRUE(all.answers == 1 && all.answer_last);
    EXPECT_EQ(w.left(), "");
}

// Nothing is heaped up for a client that does not read: the one value that is held back waits.
TEST_P(pacing, a_client_that_does_not_read_gets_the_newest_later) {
    c.peer().block(true);
    call(R"({"count":1000,"pause":10})");
    w.pass_ms(12'000);
    c.peer().block(false);
    w.settle();
    const heard all = read(c);
    EXPECT_EQ(all.values.back(), 1000);
    EXPECT_LE(all.values.size(), 12'000 / interval_ms + burst + 1);
    EXPECT_TRUE(all.answers == 1 && all.answer_last);
    EXPECT_EQ(w.left(), "");
}

// As soon as the way is full nothing is sent any more, whether the handler waits for room or its
// newest value does.
TEST_P(pacing, nothing_is_heaped_up_before_a_full_way) {
    if (GetParam() == std::string("2024-11-05")) {
        return;  // progress has no text there
    }
    // A little more than the burst fills the way (limits::out_queue_bytes_high).
    for (const int pause : {10, 30, 49, 51}) {
        client& slow = w.connect();
        slow.peer().block(true);
        const std::string much =
            R"({"count":400,"bytes":3500,"pause":)" + std::to_string(pause) + "}";
        slow.send(session.empty() ? modern_call("1", "tell", much, progress_token)
                                  : legacy_call(session, "1", "tell", much, progress_token));
        w.pass_ms(25'000);
        slow.peer().block(false);
        w.settle();
        EXPECT_GE(read(slow).values.size(), static_cast<std::size_t>(burst)) << pause;
        EXPECT_LE(read(slow).values.size(), static_cast<std::size_t>(burst) + 4) << pause;
        w.pass_ms(25'000);
        const heard all = read(slow);
        EXPECT_EQ(all.values.back(), 400) << pause;
        EXPECT_TRUE(std::is_sorted(all.values.begin(), all.values.end()));
        EXPECT_TRUE(all.answers == 1 && all.answer_last);
    }
    EXPECT_EQ(w.left(), "");
}

INSTANTIATE_TEST_SUITE_P(revisions, pacing,
                         ::testing::Values("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                           ""),
                         [](const auto& of) {
                             std::string name = *of.param == '\0' ? "2026-07-28" : of.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return "r" + name;
                         });

// Timers have ticks of a millisecond; between the end of the interval and the tick the handler may
// say something newer, which stands for what was held back. Nothing else is said in its place.
TEST(pacing_by_the_clock, a_newer_value_takes_the_place_of_what_is_held) {
    for (std::int64_t quarter = -8; quarter <= 8; ++quarter) {
        coro::event gate;
        world w(with_tell(&gate));
        client& c = w.connect();
        w.settle();
        c.peer().send_after(300'000, modern_call("1", "tell_at", "{}", progress_token));
        const std::int64_t due = 300'000 + interval_ms * 1'000'000;
        w.net.net().at(due + quarter * 250'000, [&gate] { gate.set(); });
        w.pass_ms(200);
        std::vector<double> thinned = first(burst);
        thinned.push_back(100);
        std::vector<double> both = first(burst + 1);
        both.push_back(100);
        const heard all = read(c);
        EXPECT_TRUE(all.values == thinned || all.values == both) << quarter;
        EXPECT_TRUE(quarter >= 0 || all.values == thinned) << quarter;
        w.pass_ms(2000);
        EXPECT_EQ(read(c).values, all.values);
        EXPECT_EQ(read(c).answers, 1U);
    }
}

TEST(pacing_of_pipes, is_the_same) {
    world w(with_tell());
    pipe_end p(w);
    p.line(message("0", "initialize",
                   R"("protocolVersion":"2025-11-25","capabilities":{},)"
                   R"("clientInfo":{"name":"t","version":"1"})"));
    p.fresh();
    p.line(call_body("1", "tell", R"({"count":1000})", progress_token));
    std::vector<double> wanted = first(burst);
    wanted.push_back(1000);
    const heard all = read(p.fresh());
    EXPECT_EQ(all.values, wanted);
    EXPECT_TRUE(all.answers == 1 && all.answer_last);
}

// A round of questions is an answer, too.
TEST(pacing_of_rounds, what_is_held_back_comes_before_the_questions) {
    world w(with_tell());
    std::string body =
        modern_body("1", "tools/call", call_params("tell_ask", "{}"), progress_token);
    const std::string none = R"(clientCapabilities":{})";
    body.replace(body.find(none), none.size(), R"(clientCapabilities":{"elicitation":{}})");
    client& c = w.connect();
    c.send(modern_post("tools/call", "tell_ask", body));
    const heard all = read(c);
    ASSERT_EQ(all.values.size(), static_cast<std::size_t>(burst) + 1);
    EXPECT_EQ(all.values.back(), static_cast<double>(burst + 5));
    EXPECT_TRUE(all.answers == 1 && all.answer_last);
    EXPECT_EQ(parsed(c.replies().back().message())["result"]["resultType"].str(), "input_required");
    EXPECT_EQ(w.left(), "");
}

}  // namespace
}  // namespace pillion::mcp::testing
