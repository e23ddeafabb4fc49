// The test client that users get (include/pillion/testing.hpp), used as they would: through the
// public headers alone.
#include <chrono>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

namespace pillion {
namespace {

using namespace std::chrono_literals;
using testing::answer;
using testing::client;
using testing::client_options;

constexpr const char* all_revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                         "2026-07-28"};

task<tool_result> greet(context& ctx, json::view args) {
    co_await ctx.progress(1, 2, "thinking");
    co_return ctx.text("Hello, ", args["name"].str(), "!");
}

task<tool_result> nap(context& ctx, json::view args) {
    const bool whole = co_await ctx.sleep(std::chrono::seconds(args["seconds"].i64().value_or(0)));
    co_return ctx.text(whole ? "slept" : "woken");
}

task<tool_result> book_a_city(context& ctx) {
    elicit_request form("Which city?");
    form.required("city", string().min(1));
    auto got = co_await ctx.elicit(form);
    if (!got) {
        co_return ctx.error(got.error());
    }
    co_return ctx.text(got->action == elicit_action::accept ? got->content["city"].str() : "none");
}

// What the handlers leave behind for the tests.
struct traces {
    int ended = 0;
    stop_cause cause = stop_cause::none;
};

struct waiter {
    traces& left;
    task<tool_result> operator()(context& ctx) const {
        co_await ctx.until_stopped();
        left.cause = ctx.why_stopped();
        ++left.ended;
        co_return ctx.text("stopped");
    }
};

void furnish(server& s, traces& left) {
    s.tool("greet").input(object().required("name", string().min(1))).run(greet);
    s.tool("nap").input(object().required("seconds", integer())).timeout(2h).run(nap);
    s.tool("short").timeout(1s).run([](context& ctx) -> task<tool_result> {
        co_await ctx.sleep(1h);
        co_return ctx.text("too late");
    });
    s.tool("book").run(book_a_city);
    s.tool("throws").run(
        [](context&) -> tool_result { throw std::runtime_error("secret detail"); });
    s.tool("wait").timeout(1h).run(waiter{left});
    s.tool("compute").run([](context& ctx) -> task<tool_result> {
        auto work = [] { return 6 * 7; };
        const int product = co_await ctx.blocking(work);
        co_return ctx.text(std::to_string(product));
    });
    s.tool("touch").run([](context& ctx) {
        ctx.host().resource_updated("note://one");
        return ctx.text("done");
    });
    s.prompt("hi")
        .argument("who", "Whom", true)
        .run([](context& ctx, json::view args) -> task<prompt_result> {
            auto p = ctx.prompt("A greeting");
            p.user(args["who"].str());
            co_return p;
        });
    s.resource("note://one").name("one").text("first note");
}

class TestClient : public ::testing::Test {
 protected:
    TestClient() : s("tested", "1.0.0") { furnish(s, left); }
    traces left;
    server s;
};

client_options speaking(std::string_view revision) {
    client_options o;
    o.revision(revision);
    return o;
}

TEST_F(TestClient, SpeaksEveryRevision) {
    for (const char* revision : all_revisions) {
        SCOPED_TRACE(revision);
        client c(s, speaking(revision));
        ASSERT_EQ(c.fault(), "");
        EXPECT_TRUE(c.welcome().ok()) << c.welcome().raw();
        const answer a = c.call("greet", R"({"name":"Ada"})");
        EXPECT_TRUE(a.ok()) << a.raw();
        EXPECT_EQ(a.text(), "Hello, Ada!");
        EXPECT_EQ(c.prompt("hi", R"({"who":"Bob"})").text(), "Bob");
        EXPECT_EQ(c.read("note://one").text(), "first note");
        EXPECT_EQ(c.request("tools/list").result()["tools"].size(), 8u);
        EXPECT_EQ(c.running(), 0u);
    }
}

TEST_F(TestClient, HearsProgress) {
    client c(s);
    c.call("greet", R"({"name":"Ada"})");
    const auto notes = c.take_notifications("notifications/progress");
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_EQ(notes[0].params()["message"].str(), "thinking");
    EXPECT_TRUE(c.take_notifications().empty());
}

TEST_F(TestClient, ArgumentsAreChecked) {
    client modern(s, speaking("2025-11-25"));
    EXPECT_FALSE(modern.call("greet", R"({"name":""})").ok());
    client old(s, speaking("2024-11-05"));
    EXPECT_EQ(old.call("greet").error_code(), -32602);
    EXPECT_EQ(old.call("unknown").error_code(), -32602);
}

TEST_F(TestClient, JsonThatTheTestGotWrongIsSaid) {
    client c(s);
    EXPECT_EQ(c.call("greet", "{name:1}").error_code(), -32700);
    EXPECT_EQ(c.call("greet", "[]").error_code(), -32700);
    EXPECT_EQ(c.request("tools/list", "").error_code(), -32700);
}

TEST_F(TestClient, TimeIsVirtual) {
    client c(s);
    const auto before = c.elapsed();
    EXPECT_EQ(c.call("nap", R"({"seconds":3000})").text(), "slept");
    EXPECT_GE(c.elapsed() - before, 3000s);
    EXPECT_LT(c.elapsed() - before, 3001s);
}

TEST_F(TestClient, AHeartbeatWhileTheHandlerSaysNothing) {
    s.tool("slow").timeout(2h).heartbeat(10s).run([](context& ctx) -> task<tool_result> {
        co_await ctx.sleep(25s);
        co_await ctx.progress(1, 2, "half");
        co_await ctx.sleep(25s);
        co_return ctx.text("done");
    });
    s.tool("prompt").heartbeat(10s).run([](context& ctx) { return ctx.text("at once"); });
    for (const char* revision : all_revisions) {
        SCOPED_TRACE(revision);
        client c(s, speaking(revision));
        EXPECT_EQ(c.call("slow").text(), "done");
        const auto notes = c.take_notifications("notifications/progress");
        // At 10, 20, 25 (the handler's own), 35 and 45 seconds.
        ASSERT_EQ(notes.size(), 5u);
        double last = -1;
        for (const answer& note : notes) {
            EXPECT_GT(note.params()["progress"].num(), last);
            last = note.params()["progress"].num();
        }
        EXPECT_EQ(notes[2].params()["message"].str(revision == all_revisions[0] ? "half" : ""),
                  "half");
        EXPECT_EQ(c.call("prompt").text(), "at once");
        EXPECT_TRUE(c.take_notifications().empty());
    }
}

TEST_F(TestClient, DeadlinesFire) {
    client c(s);
    EXPECT_EQ(c.call("short").error_code(), -32004);
    EXPECT_LT(c.elapsed(), 2s);
}

TEST_F(TestClient, StepsInBetween) {
    client c(s);
    const auto id = c.start_call("nap", R"({"seconds":10})");
    EXPECT_FALSE(c.answered(id));
    EXPECT_EQ(c.running(), 1u);
    c.pass(9s);
    EXPECT_FALSE(c.answered(id));
    EXPECT_EQ(c.call("greet", R"({"name":"Eve"})").text(), "Hello, Eve!");
    c.pass(1s);
    EXPECT_TRUE(c.answered(id));
    EXPECT_EQ(c.wait(id).text(), "slept");
    EXPECT_TRUE(c.wait(id).raw().empty());
}

TEST_F(TestClient, Cancels) {
    for (const char* revision : all_revisions) {
        SCOPED_TRACE(revision);
        left = {};
        client c(s, speaking(revision));
        const auto id = c.start_call("wait");
        c.cancel(id, "changed my mind");
        EXPECT_EQ(left.ended, 1);
        EXPECT_EQ(left.cause, stop_cause::client);
        EXPECT_TRUE(c.wait(id).raw().empty());
        EXPECT_EQ(c.running(), 0u);
    }
}

TEST_F(TestClient, AnswersQuestions) {
    client_options o;
    std::string asked;
    o.on("elicitation/create", [&asked](json::view params) -> std::string {
        asked = params["message"].str();
        return R"({"action":"accept","content":{"city":"Oslo"}})";
    });
    client c(s, o);
    EXPECT_EQ(c.call("book").text(), "Oslo");
    EXPECT_EQ(asked, "Which city?");
}

TEST_F(TestClient, QuestionsMayGoUnanswered) {
    client_options o;
    o.on("elicitation/create", [](json::view) { return std::string(); });
    client c(s, o);
    const answer a = c.call("book");
    EXPECT_FALSE(a.ok()) << a.raw();
    EXPECT_GE(c.elapsed(), 5min);
    EXPECT_EQ(c.take_notifications("notifications/cancelled").size(), 1u);
}

TEST_F(TestClient, WithoutTheCapabilityNothingIsAsked) {
    client c(s);
    EXPECT_FALSE(c.call("book").ok());
    EXPECT_LT(c.elapsed(), 1s);
}

TEST_F(TestClient, HelpersTakeNoVirtualTime) {
    client c(s);
    EXPECT_EQ(c.call("compute").text(), "42");
    EXPECT_LT(c.elapsed(), 1s);
}

TEST_F(TestClient, WhatThrowsIsAnErrorWithoutDetails) {
    client c(s);
    const answer a = c.call("throws");
    EXPECT_FALSE(a.ok());
    EXPECT_EQ(a.raw().find("secret"), a.raw().npos);
}

TEST_F(TestClient, ClientsOfOneServerHearOfEachOther) {
    client a(s);
    client b(s, speaking("2026-07-28"));
    EXPECT_TRUE(a.request("resources/subscribe", R"({"uri":"note://one"})").ok());
    const auto stream = b.start("subscriptions/listen",
                                R"({"notifications":{"resourceSubscriptions":["note://one"]}})");
    EXPECT_EQ(b.take_notifications("notifications/subscriptions/acknowledged").size(), 1u);
    EXPECT_EQ(a.call("touch").text(), "done");
    EXPECT_EQ(a.take_notifications("notifications/resources/updated").size(), 1u);
    EXPECT_EQ(b.take_notifications("notifications/resources/updated").size(), 1u);
    EXPECT_FALSE(b.answered(stream));
}

TEST_F(TestClient, TheLastClientStopsWhatRuns) {
    for (const char* revision : {"2025-11-25", "2026-07-28"}) {
        left = {};
        {
            client c(s, speaking(revision));
            c.start_call("wait");
            EXPECT_EQ(left.ended, 0);
        }
        EXPECT_EQ(left.ended, 1) << revision;
    }
}

TEST_F(TestClient, HooksRunOnce) {
    int runs = 0;
    s.on_start([&runs](server& more) {
        ++runs;
        more.tool("late").run([](context& ctx) { return ctx.text("here"); });
        return ok();
    });
    {
        client c(s);
    }
    client c(s);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(c.call("late").text(), "here");
}

TEST(TestClientFaults, AServerThatWouldNotStartSaysWhy) {
    server s("broken", "1");
    s.tool("twice").run([](context& ctx) { return ctx.text("1"); });
    s.tool("twice").run([](context& ctx) { return ctx.text("2"); });
    client c(s);
    EXPECT_NE(c.fault().find("twice"), std::string::npos) << c.fault();
    EXPECT_TRUE(c.call("twice").raw().empty());
    EXPECT_FALSE(c.call("twice").ok());
}

TEST(TestClientFaults, HooksThatFail) {
    server s("broken", "1");
    s.on_start([](server&) -> result<void> { return error(errc::invalid, "no such root"); });
    client c(s);
    EXPECT_EQ(c.fault(), "no such root");
}

}  // namespace
}  // namespace pillion
