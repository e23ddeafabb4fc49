// What a server offers changes while it runs (server::update, src/app/catalog.cpp).
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

#include "app/server_state.hpp"

namespace pillion {
namespace {

using namespace std::chrono_literals;
using testing::answer;
using testing::client;
using testing::client_options;

tool_result say_old(context& ctx) { return ctx.text("old"); }
tool_result say_new(context& ctx) { return ctx.text("new"); }

std::string names_in(const answer& a, std::string_view list) {
    std::string all;
    for (const json::view entry : a.result()[list].elements()) {
        all.append(entry["name"].str()).append(" ");
    }
    return all;
}

class Catalog : public ::testing::Test {
 protected:
    Catalog() : s("changing", "1") {
        s.tool("first").about("a").run(say_old);
        s.tool("second").about("b").run(say_old);
    }
    server s;
};

TEST_F(Catalog, WhatIsAddedIsThere) {
    client c(s);
    EXPECT_FALSE(c.call("third").ok());
    ASSERT_TRUE(s.update([](catalog& all) { all.tool("third").about("c").run(say_new); }));
    EXPECT_EQ(c.call("third").text(), "new");
    EXPECT_EQ(names_in(c.request("tools/list"), "tools"), "first second third ");
    EXPECT_EQ(c.take_notifications("notifications/tools/list_changed").size(), 1u);
    EXPECT_TRUE(c.take_notifications().empty());
}

TEST_F(Catalog, WhatIsRemovedIsGone) {
    client c(s, client_options().revision("2026-07-28"));
    c.start("subscriptions/listen", R"({"notifications":{"toolsListChanged":true}})");
    c.take_notifications();
    bool there = false;
    bool unknown = true;
    ASSERT_TRUE(s.update([&](catalog& all) {
        there = all.remove_tool("first");
        unknown = all.remove_tool("none");
    }));
    EXPECT_TRUE(there);
    EXPECT_FALSE(unknown);
    EXPECT_EQ(c.call("first").error_code(), -32602);
    EXPECT_EQ(names_in(c.request("tools/list"), "tools"), "second ");
    EXPECT_EQ(c.take_notifications("notifications/tools/list_changed").size(), 1u);
}

TEST_F(Catalog, AToolIsReplaced) {
    client c(s);
    EXPECT_EQ(c.call("first").text(), "old");
    ASSERT_TRUE(s.update([](catalog& all) {
        all.remove_tool("first");
        all.tool("first").about("a").run(say_new);
    }));
    EXPECT_EQ(c.call("first").text(), "new");
}

// Every reload that exchanged what a tool does told all clients of lists that were the same.
TEST_F(Catalog, OnlyAListThatLooksDifferentIsToldOf) {
    client c(s);
    const auto replace = [this](const char* about) {
        return s.update([about](catalog& all) {
            all.remove_tool("first");
            all.tool("first").about(about).run(say_new);
        });
    };
    ASSERT_TRUE(replace("a"));
    EXPECT_EQ(c.call("first").text(), "new");
    EXPECT_TRUE(c.take_notifications().empty());
    ASSERT_TRUE(replace("another"));
    EXPECT_EQ(c.call("first").text(), "new");
    EXPECT_EQ(c.take_notifications("notifications/tools/list_changed").size(), 1u);
}

TEST_F(Catalog, ACallUnderWayEndsWithWhatItBeganWith) {
    auto alive = std::make_shared<int>(0);
    const std::weak_ptr<int> watched = alive;
    struct slow {
        std::shared_ptr<int> kept;
        task<tool_result> operator()(context& ctx) const {
            co_await ctx.sleep(10s);
            co_return ctx.text(std::to_string(++*kept));
        }
    };
    s.tool("slow").about("d").run(slow{std::move(alive)});
    client c(s);
    const auto id = c.start_call("slow");
    ASSERT_TRUE(s.update([](catalog& all) { all.remove_tool("slow"); }));
    EXPECT_FALSE(c.call("slow").ok());
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(c.wait(id).text(), "1");
    // Its handler goes with the last request that knew it.
    EXPECT_EQ(c.call("first").text(), "old");
    EXPECT_TRUE(watched.expired());
}

TEST_F(Catalog, AChangeThatCouldNotBeStartedIsRefusedWhole) {
    client c(s);
    std::string fault;
    EXPECT_FALSE(s.update(
        [](catalog& all) {
            all.remove_tool("second");
            all.tool("first").about("again").run(say_new);
        },
        &fault));
    EXPECT_NE(fault.find("\"first\": registered twice"), fault.npos) << fault;
    EXPECT_EQ(names_in(c.request("tools/list"), "tools"), "first second ");
    EXPECT_EQ(c.call("first").text(), "old");
    EXPECT_TRUE(c.take_notifications().empty());
}

// The operator's word was written into the definitions that were in use before the update was
// refused: a reload that failed had opened, or closed, tools.
TEST_F(Catalog, TheOperatorsWordIsForWhatIsNew) {
    using kind = detail::operator_scopes::kind;
    s.prompt("p").run(
        [](context& ctx, json::view) -> task<prompt_result> { co_return ctx.prompt(); });
    s.resource("x://r").name("r").text("r");
    detail::definitions& all = s.state().defs;
    all.guards = {{kind::tool, "first", {"a"}}};
    client c(s);
    const auto before = all.tools[0];
    all.guards = {{kind::tool, "first", {"b"}},
                  {kind::tool, "third", {"b"}},
                  {kind::prompt, "p", {"b"}},
                  {kind::resource, "x://r", {"b"}}};
    all.operators.resize(2);
    all.operators[0].tool = "first";
    all.operators[0].timeout = 1s;
    all.operators[1].tool = "third";
    all.operators[1].timeout = 1s;
    all.icons = {{true, "p", {icon("https://i.example/p.png")}},
                 {false, "x://r", {icon("https://i.example/r.png")}}};
    const auto is_as_before = [&] {
        EXPECT_EQ(all.tools[0], before);
        EXPECT_EQ(all.tools[0]->scopes, detail::scope_list{"a"});
        EXPECT_EQ(all.tools[0]->timeout, 0s);
        EXPECT_TRUE(all.prompts[0]->scopes.empty());
        EXPECT_TRUE(all.prompts[0]->icons.empty());
        EXPECT_TRUE(all.resources[0]->scopes.empty());
        EXPECT_TRUE(all.resources[0]->icons.empty());
    };
    EXPECT_FALSE(s.update([](catalog& to) { to.tool("first").about("twice").run(say_new); }));
    is_as_before();
    ASSERT_TRUE(s.update([](catalog& to) { to.tool("third").about("c").run(say_new); }));
    is_as_before();
    EXPECT_EQ(all.tools[2]->scopes, detail::scope_list{"b"});
    EXPECT_EQ(all.tools[2]->timeout, 1s);
}

TEST_F(Catalog, WhatWasOfferedOnceStaysAListIfEmpty) {
    client c(s);
    ASSERT_TRUE(s.update([](catalog& all) {
        all.remove_tool("first");
        all.remove_tool("second");
    }));
    const answer a = c.request("tools/list");
    EXPECT_TRUE(a.ok()) << a.raw();
    EXPECT_EQ(a.result()["tools"].size(), 0u);
    client later(s);
    EXPECT_TRUE(later.welcome().result()["capabilities"]["tools"].exists());
}

TEST_F(Catalog, PagesGoOnBehindAnEntryThatIsGone) {
    s.page_size(2);
    for (const char* name : {"third", "fourth", "fifth"}) {
        s.tool(name).about("x").run(say_old);
    }
    client c(s);
    const answer page = c.request("tools/list");
    const std::string next(page.result()["nextCursor"].str());
    // The entry that the cursor names, and one before and one behind it.
    ASSERT_TRUE(s.update([](catalog& all) {
        all.remove_tool("second");
        all.remove_tool("first");
        all.remove_tool("third");
        all.tool("sixth").about("x").run(say_new);
    }));
    const answer rest = c.request("tools/list", R"({"cursor":")" + next + "\"}");
    EXPECT_EQ(names_in(rest, "tools"), "fourth fifth ");
}

TEST_F(Catalog, PromptsAndResourcesChangeToo) {
    s.resource("note://a").name("a").text("A");
    s.resource_template("note://{x}/t").name("t").run([](context& ctx, std::string_view) {
        return [](context& in) -> task<resource_result> { co_return in.not_found(); }(ctx);
    });
    client c(s);
    ASSERT_TRUE(s.update([](catalog& all) {
        all.resource("note://b").name("b").text("B");
        EXPECT_TRUE(all.remove_resource("note://a"));
        EXPECT_FALSE(all.remove_resource("note://{x}/t"));
        EXPECT_TRUE(all.remove_template("note://{x}/t"));
        all.prompt("hi").run([](context& ctx, json::view) {
            return [](context& in) -> task<prompt_result> { co_return in.prompt("p"); }(ctx);
        });
    }));
    EXPECT_EQ(c.read("note://b").text(), "B");
    EXPECT_FALSE(c.read("note://a").ok());
    EXPECT_EQ(names_in(c.request("prompts/list"), "prompts"), "hi ");
    EXPECT_EQ(c.request("resources/templates/list").result()["resourceTemplates"].size(), 0u);
    EXPECT_EQ(c.take_notifications("notifications/resources/list_changed").size(), 1u);
    EXPECT_EQ(c.take_notifications("notifications/prompts/list_changed").size(), 1u);
    EXPECT_TRUE(s.update([](catalog& all) { EXPECT_TRUE(all.remove_prompt("hi")); }));
}

TEST_F(Catalog, WithoutClientsItIsRegistration) {
    ASSERT_TRUE(s.update([](catalog& all) { all.remove_tool("first"); }));
    client c(s);
    EXPECT_EQ(names_in(c.request("tools/list"), "tools"), "second ");
}

TEST_F(Catalog, AHandlerMayChangeTheServer) {
    s.tool("grow").about("g").run([](context& ctx) {
        const bool done =
            ctx.host().update([](catalog& all) { all.tool("grown").about("n").run(say_new); });
        return ctx.text(done ? "yes" : "no");
    });
    client c(s);
    EXPECT_EQ(c.call("grow").text(), "yes");
    EXPECT_EQ(c.call("grown").text(), "new");
    EXPECT_EQ(c.call("grow").text(), "no");
}

}  // namespace
}  // namespace pillion
