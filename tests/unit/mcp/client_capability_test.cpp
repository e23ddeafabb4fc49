// Handlers that ask a client for what it does not declare and pass the error on: what each revision
// has for that.
#include "mcp/client_capability.hpp"

#include <gtest/gtest.h>

#include <pillion/ask.hpp>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

struct answered {
    bool yes = false;
    static constexpr auto fields = pillion::fields(field("yes", &answered::yes));
};

// Asks what it is told to and returns the error of that, or nothing.
task<result<void>> ask_for(context& ctx, std::string_view what) {
    if (what == "sampling") {
        sample_request request(10);
        request.user("well?");
        const auto got = co_await ctx.sample(request);
        co_return got ? ok() : got.error();
    }
    if (what == "roots") {
        const auto got = co_await ctx.roots();
        co_return got ? ok() : got.error();
    }
    elicit_request form("Which?");
    form.required("city", string());
    const elicit_request page = elicit_request::page("Sign in", "https://example.com/");
    const elicit_request& chosen = what == "elicitation.url" ? page : form;
    const auto got = co_await ctx.elicit(chosen);
    co_return got ? ok() : got.error();
}

task<tool_result> needy(context& ctx, json::view args) {
    if (args["speak"].boolean()) {
        co_await ctx.progress(1);
    }
    const std::string what(args["what"].str());
    const result<void> got = co_await ask_for(ctx, what);
    co_return got ? ctx.text("answered") : ctx.error(got.error());
}

task<result<answered>> typed(context& ctx) {
    const result<void> got = co_await ask_for(ctx, "sampling");
    if (!got) {
        co_return got.error();
    }
    answered out;
    out.yes = true;
    co_return out;
}

// The error of one question is passed on after another one failed as well.
task<tool_result> first_of_two(context& ctx) {
    auto form = ask_for(ctx, "elicitation");
    auto roots = ask_for(ctx, "roots");
    const auto both = co_await ctx.all(form, roots);
    const auto& [f, r] = both;
    co_return f&& r ? ctx.text("answered") : ctx.error((f ? r : f).error());
}

task<prompt_result> prompt(context& ctx, json::view args) {
    const std::string what(args["what"].str());
    const result<void> got = co_await ask_for(ctx, what);
    co_return got ? ctx.prompt("answered") : ctx.prompt_error(got.error());
}

task<resource_result> resource(context& ctx, std::string_view uri) {
    const result<void> got = co_await ask_for(ctx, ctx.variable("what"));
    if (!got) {
        co_return ctx.unreadable(got.error());
    }
    auto out = ctx.contents();
    out.text(uri, "text/plain", "answered");
    co_return out;
}

world_options with_needs() {
    world_options o;
    o.more = [](server& s) {
        s.tool("ask").input(object().open()).run(&needy);
        s.tool("typed").run(&typed);
        s.tool("two").run(&first_of_two);
        s.tool("other").run(
            [](context& ctx) { return ctx.error(error(errc::unsupported, "Something else")); });
        s.prompt("ask").argument("what", "What", true).run(&prompt);
        s.resource_template("ask://{what}").name("ask").run(&resource);
    };
    return o;
}

struct need {
    const char* what;
    const char* required;  // what error.data says
};

constexpr need needs[] = {
    {"sampling", R"({"sampling":{}})"},
    {"elicitation", R"({"elicitation":{}})"},
    {"elicitation.url", R"({"elicitation":{"url":{}}})"},
    {"roots", R"({"roots":{}})"},
};

void expect_refused(const http_reply& r, const need& of) {
    EXPECT_EQ(r.status, 400) << of.what;
    EXPECT_FALSE(r.streamed());
    const parsed p(r.message());
    EXPECT_EQ(p.code(), -32021) << p.raw();
    const std::string data = R"("requiredCapabilities":)" + std::string(of.required) + "}";
    EXPECT_NE(p.raw().find(data), std::string::npos) << p.raw();
}

TEST(client_capabilities, what_a_modern_client_lacks_is_named) {
    world w(with_needs());
    client& c = w.connect();
    for (const need& one : needs) {
        const std::string args = R"({"what":")" + std::string(one.what) + "\"}";
        expect_refused(c.ask(modern_call("1", "ask", args)), one);
        const std::string get = R"("name":"ask","arguments":)" + args;
        expect_refused(
            c.ask(modern_post("prompts/get", "ask", modern_body("2", "prompts/get", get))), one);
        const std::string uri = "ask://" + std::string(one.what);
        const std::string read = R"("uri":")" + uri + "\"";
        expect_refused(
            c.ask(modern_post("resources/read", uri, modern_body("3", "resources/read", read))),
            one);
    }
    expect_refused(c.ask(modern_call("4", "typed")), needs[0]);
    expect_refused(c.ask(modern_call("5", "two")), needs[1]);
    EXPECT_EQ(w.left(), "");
}

// The declaration of this very request counts, and of its modes.
TEST(client_capabilities, other_modes_and_null_do_not_help) {
    world w(with_needs());
    client& c = w.connect();
    const auto ask_as = [&c](const char* what, const std::string& declared) {
        std::string message = modern_body(
            "1", "tools/call", R"("name":"ask","arguments":{"what":")" + std::string(what) + "\"}");
        const std::string none = R"(clientCapabilities":{})";
        message.replace(message.find(none), none.size(), R"(clientCapabilities":)" + declared);
        return c.ask(modern_post("tools/call", "ask", message));
    };
    expect_refused(ask_as("elicitation", R"({"elicitation":{"url":{}}})"), needs[1]);
    expect_refused(ask_as("elicitation.url", R"({"elicitation":{}})"), needs[2]);
    expect_refused(ask_as("elicitation.url", R"({"elicitation":{"form":{}}})"), needs[2]);
    expect_refused(ask_as("sampling", R"({"sampling":null,"roots":{}})"), needs[0]);
    EXPECT_EQ(parsed(ask_as("roots", R"({"roots":{}})").message())["result"]["resultType"].str(),
              "input_required");
    EXPECT_EQ(w.left(), "");
}

// Where something was said before, the status has gone; the error is the same.
TEST(client_capabilities, a_stream_that_has_begun_ends_with_the_error) {
    world w(with_needs());
    const http_reply r = w.connect().ask(
        modern_call("1", "ask", R"({"what":"roots","speak":true})", R"("progressToken":1)"));
    EXPECT_EQ(r.status, 200);
    ASSERT_TRUE(r.streamed() && r.complete);
    ASSERT_EQ(r.events.size(), 2U);
    EXPECT_EQ(parsed(r.events[1]).code(), -32021);
    EXPECT_EQ(w.left(), "");
}

TEST(client_capabilities, earlier_clients_are_told_in_words) {
    world w(with_needs());
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        const std::string session = w.open_session(version);
        client& c = w.connect();
        for (const need& one : needs) {
            const std::string text =
                "The client does not declare the capability \"" + std::string(one.what) + "\"";
            const std::string args = R"({"what":")" + std::string(one.what) + "\"}";
            const http_reply r = c.ask(legacy_call(session, "1", "ask", args));
            EXPECT_EQ(r.status, 200);
            const parsed p(r.message());
            EXPECT_TRUE(p["result"]["isError"].boolean()) << version;
            EXPECT_EQ(p.text(), text) << version;
            const std::string get = R"("name":"ask","arguments":)" + args;
            const std::string read = R"("uri":"ask://)" + std::string(one.what) + "\"";
            for (const std::string& other :
                 {message("2", "prompts/get", get), message("3", "resources/read", read)}) {
                const parsed q(c.ask(legacy_post(session, other)).message());
                EXPECT_EQ(q.code(), -32603) << q.raw();
                EXPECT_EQ(q["error"]["message"].str(), text);
            }
        }
        EXPECT_TRUE(parsed(c.ask(legacy_call(session, "4", "typed")).message())["result"]["isError"]
                        .boolean());
    }
    EXPECT_EQ(w.left(), "");
}

TEST(client_capabilities, other_errors_are_not_taken_for_it) {
    world w(with_needs());
    const parsed p = w.connect().ask_message(modern_call("1", "other"));
    EXPECT_TRUE(p["result"]["isError"].boolean());
    EXPECT_EQ(p.text(), "Something else");
    for (const errc kind : {errc::denied, errc::invalid, errc::internal}) {
        EXPECT_EQ(lacking(error(kind, capability::roots.missing)), nullptr);
    }
    for (const client_capability* one : {&capability::sampling, &capability::elicitation,
                                         &capability::elicitation_url, &capability::roots}) {
        const error copy = one->refusal();
        EXPECT_EQ(copy.kind, errc::unsupported);
        ASSERT_NE(lacking(copy), nullptr);
        EXPECT_EQ(lacking(copy)->name, one->name);
        EXPECT_NE(std::string_view(copy.detail).find(one->name), std::string_view::npos);
    }
}

}  // namespace
}  // namespace pillion::mcp::testing
