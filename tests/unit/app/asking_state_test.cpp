// requestState of 2026-07-28 in the hands of an attacker, and answers that count once. What was
// changed, cut, mixed or taken elsewhere is refused before the handler runs.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

#include "base/base64.hpp"

namespace pillion {
namespace {

using base::base64::form;
using testing::answer;
using testing::client;
using testing::client_options;

int handler_runs = 0;
std::vector<std::string> deleted;

task<tool_result> delete_file(context& ctx, json::view args) {
    ++handler_runs;
    const std::string path(args["path"].str());
    elicit_request sure("Delete " + path + "?");
    sure.required("yes", boolean()).key("sure");
    const auto got = co_await ctx.elicit(sure);
    if (!got) {
        co_return ctx.error(got.error());
    }
    if (got->action == elicit_action::accept && got->content["yes"].boolean()) {
        deleted.push_back(path);
    }
    co_return ctx.text("done");
}

// The same question whatever the path: only the binding to the arguments protects it.
task<tool_result> delete_any(context& ctx, json::view args) {
    ++handler_runs;
    elicit_request sure("Sure?");
    sure.required("yes", boolean()).key("sure");
    const auto got = co_await ctx.elicit(sure);
    if (!got) {
        co_return ctx.error(got.error());
    }
    deleted.emplace_back(args["path"].str());
    co_return ctx.text("done");
}

task<prompt_result> ask_in_prompt(context& ctx, json::view) {
    ++handler_runs;
    elicit_request sure("Sure?");
    sure.required("yes", boolean()).key("sure");
    const auto got = co_await ctx.elicit(sure);
    co_return got ? ctx.prompt("answered") : ctx.prompt_error(got.error());
}

task<resource_result> ask_in_resource(context& ctx, std::string_view uri) {
    ++handler_runs;
    elicit_request sure("Sure?");
    sure.required("yes", boolean()).key("sure");
    const auto got = co_await ctx.elicit(sure);
    if (!got) {
        co_return ctx.unreadable(got.error());
    }
    auto out = ctx.contents();
    out.text(uri, "text/plain", "answered");
    co_return out;
}

// Asks for a reason, waits, and asks for what counts once.
task<tool_result> pay(context& ctx, json::view args) {
    ++handler_runs;
    if (args["reason"].boolean()) {
        elicit_request why("Why?");
        why.required("text", string()).key("why");
        const auto reason = co_await ctx.elicit(why);
        if (!reason) {
            co_return ctx.error(reason.error());
        }
    }
    co_await ctx.sleep(std::chrono::milliseconds(10));
    elicit_request sure("Pay?");
    sure.required("yes", boolean()).key("sure").single_use();
    const auto got = co_await ctx.elicit(sure);
    if (!got) {
        co_return ctx.error(got.error());
    }
    if (got->action == elicit_action::accept) {
        ctx.once("paid", [] {
            deleted.emplace_back("paid");
            return "yes";
        });
    }
    if (args["thanks"].boolean()) {
        elicit_request thanks("Another coffee?");
        thanks.required("yes", boolean()).key("thanks");
        const auto more = co_await ctx.elicit(thanks);
        if (!more) {
            co_return ctx.error(more.error());
        }
    }
    co_return ctx.text("done");
}

// Two answers that count once, in one round.
task<tool_result> pay_both(context& ctx) {
    elicit_request one("One?");
    one.required("yes", boolean()).key("one").single_use();
    elicit_request two("Two?");
    two.required("yes", boolean()).key("two").single_use();
    auto first = ctx.elicit(one);
    auto second = ctx.elicit(two);
    const auto both = co_await ctx.all(first, second);
    const auto& [a, b] = both;
    if (!a || !b) {
        co_return ctx.error((a ? b : a).error());
    }
    deleted.emplace_back("both");
    co_return ctx.text("done");
}

constexpr const char* yes = R"({"sure":{"action":"accept","content":{"yes":true}}})";

client_options able(std::string_view revision = "2026-07-28") {
    client_options o;
    o.revision(revision).capabilities(R"({"elicitation":{}})");
    return o;
}

class States : public ::testing::Test {
 protected:
    States() : s("states", "1") {
        handler_runs = 0;
        deleted.clear();
        const schema paths = object().optional("path", string()).optional("more", anything());
        s.tool("delete").about("a").input(paths).run(delete_file);
        s.tool("any").about("a").input(paths).run(delete_any);
        s.tool("twin").about("a").input(paths).run(delete_any);
        const schema how = object().optional("reason", boolean()).optional("thanks", boolean());
        s.tool("pay").about("a").input(how).run(pay);
        s.tool("both").about("a").run(pay_both);
        s.prompt("twin").run(ask_in_prompt);
        s.prompt("other").run(ask_in_prompt);
        s.resource("twin://a").name("a").run(ask_in_resource);
        s.resource("twin://b").name("b").run(ask_in_resource);
    }
    // The params of a round; `state` is JSON.
    static std::string round(std::string_view name, std::string_view arguments,
                             std::string_view state_json, std::string_view responses = yes) {
        json::builder b;
        b.begin_object().member("name", name).key("arguments").raw(arguments);
        b.key("inputResponses").raw(responses).key("requestState").raw(state_json).end_object();
        return std::string(b.text());
    }
    static std::string quoted(std::string_view text) {
        json::builder b;
        b.value(text);
        return std::string(b.text());
    }
    // Any byte, as JSON can say it.
    static std::string escaped(std::string_view bytes) {
        constexpr char hex[] = "0123456789abcdef";
        std::string out = "\"";
        for (const char c : bytes) {
            const auto byte = static_cast<unsigned char>(c);
            out += "\\u00";
            out += hex[byte >> 4U];
            out += hex[byte & 15U];
        }
        return out + "\"";
    }
    static bool asks(const answer& a) { return a.result()["resultType"].str() == "input_required"; }
    static std::string state_of(const answer& a) {
        return std::string(a.result()["requestState"].str());
    }
    static std::string reason_of(const answer& a) {
        return std::string(a.error()["data"]["reason"].str());
    }
    // Every one of them is refused, and no handler saw it.
    static void expect_refused(client& c, const std::string& state_json, std::size_t at) {
        const answer a = c.request("tools/call", round("any", "{}", state_json));
        ASSERT_EQ(a.error_code(), -32602) << at << ": " << state_json << a.raw();
        ASSERT_EQ(handler_runs, 0);
    }

    server s;
};

TEST_F(States, EveryFlippedBitOfTheTextIsRefused) {
    client c(s, able());
    const std::string state = state_of(c.call("any"));
    ASSERT_GT(state.size(), 100u);
    handler_runs = 0;
    for (std::size_t i = 0; i < state.size(); ++i) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string bad = state;
            bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ (1U << bit));
            expect_refused(c, escaped(bad), i);
        }
    }
    EXPECT_TRUE(c.request("tools/call", round("any", "{}", escaped(state))).ok());
}

TEST_F(States, EveryFlippedBitOfWhatIsSealedIsRefused) {
    client c(s, able());
    const std::string state = state_of(c.call("any"));
    std::string raw(base::base64::decoded_size_max(state.size()), '\0');
    const auto size = base::base64::decode(state, raw.data(), form::url);
    ASSERT_TRUE(size.has_value());
    raw.resize(*size);
    handler_runs = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string bad = raw;
            bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ (1U << bit));
            std::string text(base::base64::encoded_size(bad.size(), form::url), '\0');
            base::base64::encode(bad, text.data(), form::url);
            expect_refused(c, quoted(text), i);
        }
    }
}

TEST_F(States, EveryCutAndEveryAdditionIsRefused) {
    client c(s, able());
    const std::string state = state_of(c.call("any"));
    handler_runs = 0;
    for (std::size_t i = 0; i < state.size(); ++i) {
        expect_refused(c, quoted(state.substr(0, i)), i);
        expect_refused(c, quoted(state.substr(i + 1)), i);
        expect_refused(c, quoted(state.substr(0, i) + state.substr(i + 1)), i);
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
        const std::string one(1, static_cast<char>(byte));
        expect_refused(c, escaped(state + one), byte);
        expect_refused(c, escaped(one + state), byte);
    }
    expect_refused(c, quoted(state + state), 0);
    for (const char* other : {"null", "1", "true", "[]", "{}", "\"\""}) {
        expect_refused(c, other, 0);
    }
}

TEST_F(States, EveryMixtureOfTwoIsRefused) {
    client c(s, able());
    const std::string one = state_of(c.call("any"));
    const std::string two = state_of(c.call("any"));
    ASSERT_EQ(one.size(), two.size());
    handler_runs = 0;
    for (std::size_t i = 0; i <= one.size(); ++i) {
        const std::string mixed = one.substr(0, i) + two.substr(i);
        if (mixed != one && mixed != two) {
            expect_refused(c, quoted(mixed), i);
        }
    }
}

TEST_F(States, AConfirmationIsGoodForTheArgumentItWasGivenFor) {
    client c(s, able());
    for (const char* tool : {"delete", "any"}) {
        const answer asked = c.call(tool, R"({"path":"a"})");
        ASSERT_TRUE(asks(asked)) << asked.raw();
        const std::string state = quoted(state_of(asked));
        handler_runs = 0;
        for (const char* arguments :
             {R"({"path":"b"})", R"({"path":"A"})", R"({"path":"a "})", R"({"path":""})", "{}",
              R"({"path":"a","more":null})", R"({"more":"a"})"}) {
            const answer a = c.request("tools/call", round(tool, arguments, state));
            EXPECT_EQ(a.error_code(), -32602) << arguments << a.raw();
        }
        EXPECT_EQ(handler_runs, 0);
        EXPECT_TRUE(deleted.empty());
        EXPECT_TRUE(c.request("tools/call", round(tool, R"({ "path" : "a" })", state)).ok());
        EXPECT_EQ(deleted, std::vector<std::string>{"a"});
        deleted.clear();
    }
}

TEST_F(States, AStateIsGoodForItsMethodAndTargetOnly) {
    client c(s, able());
    struct place {
        const char* method;
        const char* name;
    };
    const place places[] = {{"tools/call", "any"},          {"tools/call", "twin"},
                            {"prompts/get", "twin"},        {"prompts/get", "other"},
                            {"resources/read", "twin://a"}, {"resources/read", "twin://b"}};
    const auto params = [](const place& of, std::string_view more) {
        const std::string member = of.method[0] == 'r' ? "uri" : "name";
        return "{\"" + member + "\":\"" + of.name + "\"" + std::string(more) + "}";
    };
    for (const place& from : places) {
        const answer asked = c.request(from.method, params(from, ""));
        ASSERT_TRUE(asks(asked)) << asked.raw();
        const std::string more = R"(,"inputResponses":)" + std::string(yes) +
                                 R"(,"requestState":)" + quoted(state_of(asked));
        for (const place& to : places) {
            handler_runs = 0;
            const answer a = c.request(to.method, params(to, more));
            const bool same = &from == &to;
            EXPECT_EQ(a.error_code(), same ? 0 : -32602) << from.name << to.name << a.raw();
            EXPECT_EQ(handler_runs, same ? 1 : 0);
            EXPECT_EQ(asks(a), false);
        }
    }
    // Methods that do not ask take no notice.
    const std::string state = quoted(state_of(c.call("any")));
    EXPECT_TRUE(c.request("tools/list", R"({"requestState":)" + state + "}").ok());
}

TEST_F(States, AChangedToolTakesNoAnswersOfItsPredecessor) {
    client c(s, able());
    const std::string state = quoted(state_of(c.call("any")));
    ASSERT_TRUE(s.update([](catalog& all) {
        all.remove_tool("any");
        all.tool("any").about("Changed.").input(object().open()).run(delete_any);
    }));
    EXPECT_EQ(c.request("tools/call", round("any", "{}", state)).error_code(), -32602);
}

TEST_F(States, AStateEndsAfterAnHourToTheMillisecond) {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    client c(s, able());
    const std::string state = quoted(state_of(c.call("any")));
    c.pass(hours(1) - milliseconds(5));
    EXPECT_TRUE(c.request("tools/call", round("any", "{}", state)).ok());
    handler_runs = 0;
    c.pass(milliseconds(6));
    EXPECT_EQ(c.request("tools/call", round("any", "{}", state)).error_code(), -32602);
    EXPECT_EQ(handler_runs, 0);
}

// ---- answers that count once ----

TEST_F(States, AnAnswerThatCountsOnceCountsOnce) {
    client c(s, able());
    const std::string state = quoted(state_of(c.call("pay")));
    EXPECT_TRUE(c.request("tools/call", round("pay", "{}", state)).ok());
    EXPECT_EQ(deleted.size(), 1u);
    handler_runs = 0;
    for (int i = 0; i < 3; ++i) {
        const answer a = c.request("tools/call", round("pay", "{}", state));
        EXPECT_EQ(a.error_code(), -32602) << a.raw();
        EXPECT_EQ(reason_of(a), "used");
    }
    const answer no =
        c.request("tools/call", round("pay", "{}", state, R"({"sure":{"action":"decline"}})"));
    EXPECT_EQ(no.error_code(), -32602);
    EXPECT_EQ(handler_runs, 0);
    EXPECT_EQ(deleted.size(), 1u);
    // A new call asks anew.
    const std::string next = quoted(state_of(c.call("pay")));
    EXPECT_TRUE(c.request("tools/call", round("pay", "{}", next)).ok());
    EXPECT_EQ(deleted.size(), 2u);
    EXPECT_EQ(c.running(), 0u);
}

TEST_F(States, WithoutItARoundMayComeTwice) {
    client c(s, able());
    const std::string state = quoted(state_of(c.call("any")));
    EXPECT_TRUE(c.request("tools/call", round("any", "{}", state)).ok());
    EXPECT_TRUE(c.request("tools/call", round("any", "{}", state)).ok());
    EXPECT_EQ(deleted.size(), 2u);
}

TEST_F(States, WhatIsNoAnswerDoesNotUseItUp) {
    client c(s, able());
    const std::string state = quoted(state_of(c.call("pay")));
    for (const char* wrong : {"{}", R"({"sure":1})", R"({"sure":{"action":"accept"}})"}) {
        EXPECT_TRUE(asks(c.request("tools/call", round("pay", "{}", state, wrong)))) << wrong;
    }
    EXPECT_TRUE(c.request("tools/call", round("pay", "{}", state)).ok());
    EXPECT_EQ(deleted.size(), 1u);
}

TEST_F(States, ItMustHaveBeenAsked) {
    client c(s, able());
    const answer a = c.request(
        "tools/call", R"({"name":"pay","arguments":{},"inputResponses":)" + std::string(yes) + "}");
    EXPECT_TRUE(asks(a)) << a.raw();
    EXPECT_TRUE(deleted.empty());
}

// Every way through the chain ends at the same nonce: from the first round on, and by two last
// rounds that were begun before either ended.
TEST_F(States, AChainHasOneEnd) {
    client c(s, able());
    const char* args = R"({"reason":true})";
    const char* why = R"({"why":{"action":"accept","content":{"text":"x"}}})";
    const std::string first = quoted(state_of(c.call("pay", args)));
    const answer a = c.request("tools/call", round("pay", args, first, why));
    const answer b = c.request("tools/call", round("pay", args, first, why));
    ASSERT_TRUE(asks(a) && asks(b));
    EXPECT_TRUE(c.request("tools/call", round("pay", args, quoted(state_of(b)))).ok());
    handler_runs = 0;
    for (const std::string& state : {first, quoted(state_of(a)), quoted(state_of(b))}) {
        EXPECT_EQ(reason_of(c.request("tools/call", round("pay", args, state, why))), "used");
        EXPECT_EQ(reason_of(c.request("tools/call", round("pay", args, state))), "used");
    }
    EXPECT_EQ(handler_runs, 0);
    EXPECT_EQ(deleted.size(), 1u);
}

TEST_F(States, OfTwoAtTheSameTimeOneCounts) {
    client c(s, able());
    const std::string state = quoted(state_of(c.call("pay")));
    const auto one = c.start("tools/call", round("pay", "{}", state));
    const auto two = c.start("tools/call", round("pay", "{}", state));
    const answer a = c.wait(one);
    const answer b = c.wait(two);
    EXPECT_NE(a.ok(), b.ok());
    const answer& refused = a.ok() ? b : a;
    EXPECT_EQ(refused.error_code(), -32602) << refused.raw();
    EXPECT_EQ(reason_of(refused), "used");
    EXPECT_EQ(deleted.size(), 1u);
    EXPECT_EQ(c.running(), 0u);
}

// A round that was under way when another one used the answer must not seal a state that would
// outlive the memory of it.
TEST_F(States, AUsedChainIsNotContinuedByWhoeverWasOnTheWay) {
    client c(s, able());
    const char* args = R"({"reason":true})";
    const char* why = R"({"why":{"action":"accept","content":{"text":"x"}}})";
    const std::string first = quoted(state_of(c.call("pay", args)));
    const std::string last =
        quoted(state_of(c.request("tools/call", round("pay", args, first, why))));
    const auto pays = c.start("tools/call", round("pay", args, last));
    c.pass(std::chrono::milliseconds(5));
    const auto asks_again = c.start("tools/call", round("pay", args, first, why));
    EXPECT_TRUE(c.wait(pays).ok());
    EXPECT_EQ(reason_of(c.wait(asks_again)), "used");
    EXPECT_EQ(c.running(), 0u);
}

TEST_F(States, QuestionsBehindItAreAnotherChain) {
    client c(s, able());
    const char* args = R"({"thanks":true})";
    const char* more = R"({"thanks":{"action":"accept","content":{"yes":true}}})";
    const std::string first = quoted(state_of(c.call("pay", args)));
    const answer second = c.request("tools/call", round("pay", args, first));
    ASSERT_TRUE(asks(second)) << second.raw();
    EXPECT_TRUE(second.result()["inputRequests"]["thanks"].exists());
    EXPECT_EQ(reason_of(c.request("tools/call", round("pay", args, first))), "used");
    // Its own question counts as often as it is answered; what was paid stays paid once.
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(
            c.request("tools/call", round("pay", args, quoted(state_of(second)), more)).ok());
    }
    EXPECT_EQ(deleted.size(), 1u);
}

TEST_F(States, TwoInOneRoundAreUsedTogether) {
    client c(s, able());
    const char* both = R"({"one":{"action":"accept","content":{"yes":true}},)"
                       R"("two":{"action":"accept","content":{"yes":true}}})";
    const char* one = R"({"one":{"action":"accept","content":{"yes":true}}})";
    const char* two = R"({"two":{"action":"accept","content":{"yes":true}}})";
    const std::string state = quoted(state_of(c.call("both")));
    EXPECT_TRUE(c.request("tools/call", round("both", "{}", state, both)).ok());
    EXPECT_EQ(reason_of(c.request("tools/call", round("both", "{}", state, both))), "used");
    // One after the other.
    const std::string next = quoted(state_of(c.call("both")));
    const answer half = c.request("tools/call", round("both", "{}", next, one));
    ASSERT_TRUE(asks(half)) << half.raw();
    EXPECT_EQ(reason_of(c.request("tools/call", round("both", "{}", next, both))), "used");
    const std::string rest = quoted(state_of(half));
    EXPECT_TRUE(c.request("tools/call", round("both", "{}", rest, two)).ok());
    EXPECT_EQ(reason_of(c.request("tools/call", round("both", "{}", rest, two))), "used");
    EXPECT_EQ(deleted.size(), 2u);
}

// The memory of it lasts as long as any state of the chain is good.
TEST_F(States, AUsedAnswerStaysUsed) {
    client c(s, able());
    const std::string state = quoted(state_of(c.call("pay")));
    c.pass(std::chrono::minutes(59));
    EXPECT_TRUE(c.request("tools/call", round("pay", "{}", state)).ok());
    for (int minutes = 0; minutes < 130; minutes += 10) {
        const std::string other = quoted(state_of(c.call("pay")));
        EXPECT_TRUE(c.request("tools/call", round("pay", "{}", other)).ok());
        EXPECT_EQ(c.request("tools/call", round("pay", "{}", state)).error_code(), -32602);
        c.pass(std::chrono::minutes(10));
    }
}

TEST_F(States, EarlierClientsAnswerOnceAnyway) {
    for (const char* revision : {"2025-06-18", "2025-11-25"}) {
        deleted.clear();
        client_options o = able(revision);
        o.on("elicitation/create", [](json::view) {
            return std::string(R"({"action":"accept","content":{"yes":true}})");
        });
        client c(s, o);
        EXPECT_TRUE(c.call("pay").ok());
        EXPECT_TRUE(c.call("both").ok());
        EXPECT_EQ(deleted.size(), 2u);
    }
}

}  // namespace
}  // namespace pillion
