// Questions to the client (include/pillion/ask.hpp): the same handlers towards every revision, and
// what only 2026-07-28 has: rounds, sealed state, effects that must not repeat.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

namespace pillion {
namespace {

using testing::answer;
using testing::client;
using testing::client_options;

int runs = 0;     // of handlers, since the test began
int effects = 0;  // of what must happen once
std::string wording = "Which city?";

task<tool_result> book(context& ctx) {
    ++runs;
    elicit_request form(wording);
    form.required("city", string().min(1)).key("city");
    auto got = co_await ctx.elicit(form);
    if (!got) {
        co_return ctx.error(got.error());
    }
    if (got->action != elicit_action::accept) {
        co_return ctx.text("as you like");
    }
    co_return ctx.text("booked for ", got->content["city"].str());
}

task<tool_result> twice(context& ctx) {
    ++runs;
    const std::string_view order = ctx.once("order", [] {
        ++effects;
        return "order-" + std::to_string(effects);
    });
    elicit_request first("Name?");
    first.required("name", string());
    auto name = co_await ctx.elicit(first);
    if (!name) {
        co_return ctx.error(name.error());
    }
    if (!ctx.remembered("seen").exists()) {
        ctx.remember("seen", R"({"at":[1,2]})");
    }
    elicit_request second("Color, " + std::string(name->content["name"].str()) + "?");
    second.required("color", string());
    auto color = co_await ctx.elicit(second);
    if (!color) {
        co_return ctx.error(color.error());
    }
    co_return ctx.text(order, " ", name->content["name"].str(), " ", color->content["color"].str(),
                       " ", std::to_string(ctx.remembered("seen")["at"].size()));
}

task<tool_result> three(context& ctx) {
    ++runs;
    elicit_request form("Name?");
    form.required("name", string()).key("user_name");
    sample_request poem(50);
    poem.user("Greet them").key("greeting");
    auto name = ctx.elicit(form);
    auto greeting = ctx.sample(poem);
    auto roots = ctx.roots("client_roots");
    const auto all = co_await ctx.all(name, greeting, roots);
    const auto& [n, g, r] = all;
    const std::string failed =
        std::string(n ? "" : "no name ") + (g ? "" : "no greeting ") + (r ? "" : "no roots");
    if (!failed.empty()) {
        co_return ctx.error(failed);
    }
    co_return ctx.text(g->text(), " ", n->content["name"].str(), " ",
                       std::to_string(r->roots.size()));
}

task<tool_result> clash(context& ctx) {
    elicit_request a("A?");
    elicit_request b("B?");
    a.key("same").required("x", string());
    b.key("same").required("x", string());
    auto first = ctx.elicit(a);
    auto second = ctx.elicit(b);
    const auto both = co_await ctx.all(first, second);
    const auto& [x, y] = both;
    co_return x.ok() && y.ok() ? ctx.text("both") : ctx.error((x.ok() ? y : x).error());
}

task<int> counts(context& ctx, int seconds, bool fails) {
    co_await ctx.sleep(std::chrono::seconds(seconds));
    if (fails) {
        throw std::runtime_error("one of them");
    }
    co_return seconds;
}

task<tool_result> parallel(context& ctx, json::view args) {
    auto a = counts(ctx, 3, false);
    auto b = counts(ctx, 1, args["fail"].boolean());
    auto c = counts(ctx, 2, false);
    try {
        const auto all = co_await ctx.all(a, b, c);
        const auto [x, y, z] = all;
        co_return ctx.text(std::to_string(x * 100 + y * 10 + z));
    } catch (const std::runtime_error& fault) {
        co_return ctx.error(fault.what());
    }
}

task<prompt_result> brief(context& ctx, json::view) {
    elicit_request form("What context?");
    form.required("context", string()).key("user_context");
    auto got = co_await ctx.elicit(form);
    auto out = ctx.prompt("brief");
    out.user(got ? got->content["context"].str() : std::string_view("none"));
    co_return out;
}

task<resource_result> diary(context& ctx, std::string_view uri) {
    elicit_request form("Password hint?");
    form.required("hint", string()).key("hint");
    auto got = co_await ctx.elicit(form);
    auto out = ctx.contents();
    out.text(uri, "text/plain", got ? got->content["hint"].str() : std::string_view("locked"));
    co_return out;
}

std::string says(std::string_view field, std::string_view value) {
    return R"({"action":"accept","content":{")" + std::string(field) + R"(":")" +
           std::string(value) + "\"}}";
}

class Asking : public ::testing::Test {
 protected:
    Asking() : s("asks", "1") {
        runs = 0;
        effects = 0;
        wording = "Which city?";
        s.tool("book").about("a").input(object().optional("hotel", anything())).run(book);
        s.tool("other").about("a").input(object().optional("hotel", anything())).run(book);
        s.tool("twice").about("b").run(twice);
        s.tool("three").about("c").run(three);
        s.tool("clash").about("d").run(clash);
        s.tool("parallel").about("e").input(object().optional("fail", boolean())).run(parallel);
        s.prompt("brief").run(brief);
        s.resource("note://diary").name("diary").run(diary);
    }
    // A client that answers everything.
    static client_options helpful(std::string_view revision) {
        client_options o;
        o.revision(revision);
        o.on("elicitation/create", [](json::view params) {
            const std::string_view asked = params["message"].str();
            return asked == "Which city?"      ? says("city", "Oslo")
                   : asked == "Name?"          ? says("name", "Ada")
                   : asked == "Color, Ada?"    ? says("color", "blue")
                   : asked == "What context?"  ? says("context", "work")
                   : asked == "Password hint?" ? says("hint", "cat")
                                               : std::string();
        });
        o.on("sampling/createMessage", [](json::view) {
            return std::string(R"({"role":"assistant","model":"m",)"
                               R"("content":{"type":"text","text":"Hail"}})");
        });
        o.on("roots/list", [](json::view) {
            return std::string(R"({"roots":[{"uri":"file:///a"},{"uri":"file:///b"}]})");
        });
        return o;
    }
    // A client of 2026-07-28 that leaves the rounds to the test.
    static client_options bare() {
        client_options o;
        o.revision("2026-07-28");
        o.capabilities(R"({"elicitation":{},"sampling":{},"roots":{}})");
        return o;
    }
    static std::string call(std::string_view tool, std::string_view arguments,
                            std::string_view responses, std::string_view state) {
        json::builder b;
        b.begin_object().member("name", tool).key("arguments").raw(arguments);
        if (!responses.empty()) {
            b.key("inputResponses").raw(responses);
        }
        if (!state.empty()) {
            b.member("requestState", state);
        }
        b.end_object();
        return std::string(b.text());
    }
    static bool asks(const answer& a) { return a.result()["resultType"].str() == "input_required"; }
    static std::string state_of(const answer& a) {
        return std::string(a.result()["requestState"].str());
    }

    server s;
};

TEST_F(Asking, TheSameHandlerTowardsEveryRevisionThatCan) {
    for (const char* revision : {"2025-06-18", "2025-11-25", "2026-07-28"}) {
        SCOPED_TRACE(revision);
        client c(s, helpful(revision));
        EXPECT_EQ(c.call("book").text(), "booked for Oslo");
        EXPECT_EQ(c.call("three").text(), "Hail Ada 2");
        effects = 0;
        EXPECT_EQ(c.call("twice").text(), "order-1 Ada blue 2");
        EXPECT_EQ(effects, 1);
        EXPECT_EQ(c.prompt("brief").text(), "work");
        EXPECT_EQ(c.read("note://diary").text(), "cat");
        EXPECT_EQ(c.running(), 0u);
    }
}

TEST_F(Asking, RoundsOfTheNewestRevision) {
    client c(s, helpful("2026-07-28"));
    c.call("book");
    EXPECT_EQ(runs, 2);
    runs = 0;
    c.call("three");  // three questions, one round
    EXPECT_EQ(runs, 2);
    runs = 0;
    c.call("twice");
    EXPECT_EQ(runs, 3);
}

TEST_F(Asking, TheShapeOfARound) {
    client c(s, bare());
    const answer a = c.call("three");
    ASSERT_TRUE(asks(a)) << a.raw();
    const json::view wanted = a.result()["inputRequests"];
    EXPECT_EQ(wanted.size(), 3u);
    EXPECT_EQ(wanted["user_name"]["method"].str(), "elicitation/create");
    EXPECT_EQ(wanted["user_name"]["params"]["message"].str(), "Name?");
    EXPECT_FALSE(wanted["user_name"]["id"].exists());
    EXPECT_EQ(wanted["greeting"]["params"]["maxTokens"].i64(), 50);
    EXPECT_EQ(wanted["client_roots"]["method"].str(), "roots/list");
    EXPECT_TRUE(wanted["client_roots"]["params"].is_object());
    EXPECT_FALSE(state_of(a).empty());
    EXPECT_FALSE(a.result()["content"].exists());
    EXPECT_FALSE(a.result()["ttlMs"].exists());
    EXPECT_EQ(c.running(), 0u);
}

TEST_F(Asking, OnlyWhatTheClientCanIsAsked) {
    client_options o = bare();
    o.capabilities(R"({"sampling":{}})");
    client c(s, o);
    const answer a = c.call("three");
    ASSERT_TRUE(asks(a)) << a.raw();
    EXPECT_EQ(a.result()["inputRequests"].size(), 1u);
    EXPECT_TRUE(a.result()["inputRequests"]["greeting"].exists());
    EXPECT_FALSE(c.call("book").ok());
}

TEST_F(Asking, MissingAndMalformedAnswersAreAskedForAgain) {
    client c(s, bare());
    const answer first = c.call("book");
    for (const char* responses :
         {R"({})", R"({"town":{"action":"accept","content":{"city":"x"}}})", R"({"city":12345})",
          R"({"city":null})", R"({"city":{"action":"maybe"}})", R"({"city":{"action":"accept"}})",
          R"({"city":{"action":"accept","content":{"city":""}}})"}) {
        const answer a = c.request("tools/call", call("book", "{}", responses, state_of(first)));
        EXPECT_TRUE(asks(a)) << responses << a.raw();
        EXPECT_TRUE(a.result()["inputRequests"]["city"].exists()) << responses;
    }
    for (const char* responses : {"null", "[]", "1", "\"x\""}) {
        const answer a = c.request("tools/call", call("book", "{}", responses, state_of(first)));
        EXPECT_EQ(a.error_code(), -32602) << responses << a.raw();
    }
    const answer good = c.request(
        "tools/call",
        call("book", "{}", R"({"city":)" + says("city", "Rom") + R"(,"more":1})", state_of(first)));
    EXPECT_EQ(good.text(), "booked for Rom");
    // Declining is an answer.
    const answer declined = c.request(
        "tools/call", call("book", "{}", R"({"city":{"action":"decline"}})", state_of(first)));
    EXPECT_EQ(declined.text(), "as you like");
}

// The official suite sends the answer with the first call; a key of its own says what it is for.
TEST_F(Asking, AnswersWithoutAStateCountForKeysOfTheirOwn) {
    client c(s, bare());
    const std::string responses =
        R"({"city":)" + says("city", "Rom") + R"(,"q1":)" + says("name", "Ada") + R"(,"more":1})";
    EXPECT_EQ(c.request("tools/call", call("book", "{}", responses, {})).text(), "booked for Rom");
    EXPECT_TRUE(asks(c.request("tools/call", call("twice", "{}", responses, {}))));
    EXPECT_TRUE(asks(c.request("tools/call", call("book", "{}", R"({"city":1})", {}))));
}

TEST_F(Asking, EveryFlippedBitOfTheStateIsRefused) {
    client c(s, bare());
    const std::string state = state_of(c.call("book"));
    const std::string responses = R"({"city":)" + says("city", "x") + "}";
    runs = 0;
    for (std::size_t i = 0; i < state.size(); ++i) {
        for (const char other : {'A', 'z', '_', '!'}) {
            std::string bad = state;
            bad[i] = other;
            if (bad == state) {
                continue;
            }
            const answer a = c.request("tools/call", call("book", "{}", responses, bad));
            EXPECT_EQ(a.error_code(), -32602) << i << other;
        }
    }
    EXPECT_EQ(
        c.request("tools/call", call("book", "{}", responses, state + "-TAMPERED")).error_code(),
        -32602);
    EXPECT_EQ(runs, 0);
}

TEST_F(Asking, AStateIsGoodForItsCallOnly) {
    client c(s, bare());
    const std::string state = state_of(c.call("book", R"({"hotel":{"a":1,"b":[2]}})"));
    const std::string responses = R"({"city":)" + says("city", "x") + "}";
    const auto with = [&](std::string_view tool, std::string_view arguments) {
        return c.request("tools/call", call(tool, arguments, responses, state));
    };
    EXPECT_TRUE(with("book", R"({ "hotel" : { "b":[2.0], "a":1 } })").ok());
    for (const char* arguments : {"{}", R"({"hotel":{"a":1,"b":[3]}})", R"({"hotel":{"a":1}})",
                                  R"({"hotel":{"a":"1","b":[2]}})"}) {
        EXPECT_EQ(with("book", arguments).error_code(), -32602) << arguments;
    }
    EXPECT_EQ(with("other", R"({"hotel":{"a":1,"b":[2]}})").error_code(), -32602);
    EXPECT_EQ(c.request("prompts/get", R"({"name":"brief","requestState":")" + state + "\"}")
                  .error_code(),
              -32602);
}

TEST_F(Asking, AStateExpires) {
    client c(s, bare());
    const std::string state = state_of(c.call("book"));
    const std::string responses = R"({"city":)" + says("city", "x") + "}";
    c.pass(std::chrono::minutes(59));
    EXPECT_TRUE(c.request("tools/call", call("book", "{}", responses, state)).ok());
    c.pass(std::chrono::minutes(2));
    EXPECT_EQ(c.request("tools/call", call("book", "{}", responses, state)).error_code(), -32602);
}

TEST_F(Asking, AnotherProcessHasOtherKeys) {
    std::string state;
    {
        client c(s, bare());
        state = state_of(c.call("book"));
    }
    client c(s, bare());
    const std::string responses = R"({"city":)" + says("city", "x") + "}";
    EXPECT_EQ(c.request("tools/call", call("book", "{}", responses, state)).error_code(), -32602);
}

TEST_F(Asking, AChangedQuestionIsAskedAgain) {
    client c(s, bare());
    const std::string state = state_of(c.call("book"));
    wording = "Which town?";
    const answer a =
        c.request("tools/call", call("book", "{}", R"({"city":)" + says("city", "x") + "}", state));
    ASSERT_TRUE(asks(a)) << a.raw();
    EXPECT_EQ(a.result()["inputRequests"]["city"]["params"]["message"].str(), "Which town?");
}

TEST_F(Asking, AnswersOfEarlierRoundsAreKept) {
    client c(s, bare());
    const answer first = c.call("three");
    const answer second = c.request(
        "tools/call",
        call("three", "{}", R"({"user_name":)" + says("name", "Bo") + "}", state_of(first)));
    ASSERT_TRUE(asks(second)) << second.raw();
    EXPECT_EQ(second.result()["inputRequests"].size(), 2u);
    EXPECT_NE(state_of(first), state_of(second));
    const answer third =
        c.request("tools/call", call("three", "{}",
                                     R"({"greeting":{"role":"assistant","model":"m","content":)"
                                     R"({"type":"text","text":"Hi"}},"client_roots":{"roots":[]}})",
                                     state_of(second)));
    EXPECT_EQ(third.text(), "Hi Bo 0") << third.raw();
}

TEST_F(Asking, TwoQuestionsWithOneKeyAreAMistakeOfTheHandler) {
    client c(s, bare());
    const answer a = c.call("clash");
    // The first one is asked; answered, the second one takes its key.
    EXPECT_TRUE(asks(a)) << a.raw();
    client legacy(s, helpful("2025-11-25"));
    EXPECT_FALSE(legacy.call("clash").ok());
}

TEST_F(Asking, AllRunsAtTheSameTime) {
    client c(s);
    const auto before = c.elapsed();
    EXPECT_EQ(c.call("parallel").text(), "312");
    EXPECT_LT(c.elapsed() - before, std::chrono::seconds(4));
}

TEST_F(Asking, AnExceptionInOneWaitsForTheOthers) {
    client c(s);
    const auto before = c.elapsed();
    const answer a = c.call("parallel", R"({"fail":true})");
    EXPECT_FALSE(a.ok());
    EXPECT_EQ(a.text(), "one of them");
    EXPECT_GE(c.elapsed() - before, std::chrono::seconds(3));
}

TEST_F(Asking, AllIsStoppedWithItsRequest) {
    client c(s);
    const auto id = c.start_call("parallel");
    c.cancel(id);
    EXPECT_EQ(c.running(), 0u);
}

}  // namespace
}  // namespace pillion
