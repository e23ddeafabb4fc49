// Scopes: who may use what, what lists show, and what a refusal says.
#include "mcp/access_check.hpp"

#include <gtest/gtest.h>

#include "app/server_state.hpp"
#include "auth/token_list.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

class shelf final : public resource_provider {
 public:
    bool owns(std::string_view uri) const noexcept override { return uri.starts_with("shelf://"); }
    task<result<bool>> list(context& /*ctx*/, std::string_view after,
                            resource_page& page) override {
        if (after.empty()) {
            page.add(resource_entry("shelf://1", "one"));
        }
        co_return false;
    }
    task<resource_result> read(context& ctx, std::string_view uri) override {
        resource_result out = ctx.contents();
        out.text(uri, "text/plain", "a book");
        co_return out;
    }
};

tool_result who(context& ctx) {
    return ctx.text(ctx.principal(), ctx.has_scope("files:read") ? " reads" : " reads not");
}

resource_result deep(context& ctx) {
    resource_result out = ctx.contents();
    out.text(ctx.target(), "text/plain", "deep");
    return out;
}

completion_result one(context& ctx) {
    completion_result out = ctx.completion();
    out.add("1");
    return out;
}

prompt_result hush(context& ctx) {
    prompt_result out = ctx.prompt();
    out.user("pst");
    return out;
}

world_options guarded_world() {
    world_options o;
    o.more = [](server& s) {
        s.tool("whoami").run(&who);
        s.tool("aa_read").scope("files:read").run(&who);
        s.tool("bb_write").scope("files:read").scope("files:write").run(&who);
        s.prompt("secret").scope("prompts").run(
            [](context& ctx, json::view) -> task<prompt_result> { co_return hush(ctx); });
        s.resource("test://b").name("b").scope("files:read").text("content of b");
        s.resource_template("test://deep/{id}")
            .name("deep")
            .scope("deep")
            .complete("id",
                      [](context& ctx, std::string_view, json::view) -> task<completion_result> {
                          co_return one(ctx);
                      })
            .run([](context& ctx, std::string_view) -> task<resource_result> {
                co_return deep(ctx);
            });
        s.provide(std::make_shared<shelf>(), {"library"});
        s.method_scope("completion/complete", "complete");
    };
    return o;
}

// Lets in "reader-…" and so on by opaque tokens of these scopes.
class guarded_scopes : public ::testing::Test {
 protected:
    guarded_scopes() {
        auto access = std::make_shared<auth::auth_options>();
        std::string fault;
        auto read = auth::token_list::parse(std::string(lines_), fault);
        EXPECT_TRUE(read) << fault;
        access->tokens = std::make_shared<const auth::token_list>(std::move(*read));
        http_options to("/mcp", http::origin_policy("127.0.0.1", 8080, true, {}), true, true);
        to.access = access;
        w.transport->change(std::move(to));
    }

    http_reply ask(std::string_view who, std::string_view method, std::string_view name,
                   std::string_view params) {
        header_list more{{"Authorization", "Bearer " + std::string(who) + "-token-0123456789"}};
        return w.connect().ask(
            modern_post(method, name, modern_body("1", method, params), std::move(more)));
    }
    http_reply call(std::string_view who, std::string_view tool) {
        return ask(who, "tools/call", tool, call_params(tool, "{}"));
    }
    http_reply read(std::string_view who, std::string_view uri) {
        return ask(who, "resources/read", uri, R"("uri":")" + std::string(uri) + "\"");
    }
    // The params of the page behind a cursor; "": of the first.
    static std::string after(const std::string& cursor) {
        std::string params;
        if (!cursor.empty()) {
            params.append(R"("cursor":")").append(cursor).append("\"");
        }
        return params;
    }
    // The names (or URIs) that all pages of a list show.
    std::string listed(std::string_view who, std::string_view method, const char* member,
                       const char* key) {
        std::string all;
        std::string cursor;
        do {
            const parsed page(ask(who, method, {}, after(cursor)).message());
            EXPECT_EQ(page["result"]["cacheScope"].str(), "private") << page.raw();
            for (const json::view one : page["result"][member].elements()) {
                all.append(one[key].str()).append(" ");
            }
            cursor = page["result"]["nextCursor"].str();
        } while (!cursor.empty());
        return all;
    }
    static void expect_forbidden(const http_reply& r, const std::string& scopes) {
        EXPECT_EQ(r.status, 403) << r.body;
        const auto challenge = r.headers.find("www-authenticate");
        ASSERT_NE(challenge, r.headers.end()) << r.body;
        EXPECT_EQ(challenge->second,
                  R"(Bearer realm="world", error="insufficient_scope", scope=")" + scopes + "\"");
        const parsed body(r.message());
        EXPECT_EQ(body.code(), -32600);
        EXPECT_FALSE(body["id"].exists());
        EXPECT_EQ(body["error"]["data"]["scope"].str(), scopes);
    }

    world w{guarded_world()};
    // printf NAME-token-0123456789 | sha256sum
    static constexpr std::string_view lines_ =
        "none f04a9006f59661c5d9f61be0aadc3f6b31a1b012378da8ae5eb321a7ba4509a8\n"
        "reader b3057e05d75e8cdca4bd6ddd527af736913e8464a7a3d47d7a09389eaa8e1eb4 files:read other\n"
        "writer 1caf5ddb6778770019772a6363b8cc194d1e3c145d8de3fc2570091710c3771e files:*\n"
        "admin ca8d40e6ce4716b552f1c69863335b502f2afb57ffae171d6675fd56d91ca5b2 files:* prompts "
        "deep library complete\n";
};

TEST_F(guarded_scopes, a_tool_needs_all_of_its_scopes) {
    EXPECT_EQ(parsed(call("none", "whoami").message()).text(), "token:none reads not");
    EXPECT_EQ(parsed(call("reader", "whoami").message()).text(), "token:reader reads");
    EXPECT_EQ(call("reader", "aa_read").status, 200);
    EXPECT_EQ(call("writer", "bb_write").status, 200);
    expect_forbidden(call("none", "aa_read"), "files:read");
    expect_forbidden(call("reader", "bb_write"), "files:read files:write");
    // One that is not there is not forbidden.
    EXPECT_EQ(parsed(call("none", "absent").message()).code(), -32602);
}

TEST_F(guarded_scopes, the_next_request_of_a_connection_may_be_another_callers) {
    client& c = w.connect();
    for (const auto& [who, status] : std::initializer_list<std::pair<std::string, int>>{
             {"reader", 200}, {"none", 403}, {"writer", 200}, {"none", 403}}) {
        header_list more{{"Authorization", "Bearer " + who + "-token-0123456789"}};
        const std::string body = modern_body("1", "tools/call", call_params("aa_read", "{}"));
        EXPECT_EQ(c.ask(modern_post("tools/call", "aa_read", body, std::move(more))).status, status)
            << who;
    }
}

TEST_F(guarded_scopes, lists_show_what_the_caller_may_use) {
    w.host.page_size(2);  // of the next registry
    ASSERT_TRUE(w.host.update([](catalog&) {}));
    const std::string open = listed("none", "tools/list", "tools", "name");
    EXPECT_NE(open.find("whoami "), open.npos);
    EXPECT_EQ(open.find("aa_read"), open.npos);
    EXPECT_EQ(open.find("bb_write"), open.npos);
    EXPECT_EQ(listed("reader", "tools/list", "tools", "name"), open + "aa_read ");
    EXPECT_EQ(listed("admin", "tools/list", "tools", "name"), open + "aa_read bb_write ");
    EXPECT_EQ(listed("none", "prompts/list", "prompts", "name"), "greet ");
    EXPECT_EQ(listed("admin", "prompts/list", "prompts", "name"), "greet secret ");
    EXPECT_EQ(listed("none", "resources/list", "resources", "uri"), "test://a ");
    EXPECT_EQ(listed("reader", "resources/list", "resources", "uri"), "test://a test://b ");
    EXPECT_EQ(listed("admin", "resources/list", "resources", "uri"),
              "test://a test://b shelf://1 ");
    EXPECT_EQ(listed("none", "resources/templates/list", "resourceTemplates", "name"), "item ");
    EXPECT_EQ(listed("admin", "resources/templates/list", "resourceTemplates", "name"),
              "item deep ");
}

// Answers share the text of a long list; whoever owns the pipe sees all of it, others do not.
TEST_F(guarded_scopes, a_list_that_is_shared_is_not_shown_to_who_may_not_see_it) {
    w.host.page_size(200);
    ASSERT_TRUE(w.host.update([](catalog& all) {
        for (int i = 0; i < 100; ++i) {
            all.tool("open-" + std::to_string(i)).about(std::string(100, 'd')).run(&who);
        }
    }));
    const auto names = [this](std::string_view whose) {
        return listed(whose, "tools/list", "tools", "name");
    };
    const std::string none = names("none");
    EXPECT_EQ(none.find("aa_read"), none.npos);
    pipe_end pipe(w);
    for (int i = 0; i < 3; ++i) {
        const parsed all = pipe.ask(modern_body("1", "tools/list"));
        EXPECT_GE(all.raw().size(), shared_pages::bytes_min);
        EXPECT_NE(all.raw().find("bb_write"), std::string::npos);
        EXPECT_EQ(names("none"), none);
        EXPECT_EQ(names("reader").size(), none.size() + std::string_view("aa_read ").size());
    }
}

TEST_F(guarded_scopes, a_cursor_of_somebody_else_shows_nothing_more) {
    w.host.page_size(1);
    ASSERT_TRUE(w.host.update([](catalog&) {}));
    // Behind an entry that only the admin sees: the page of whoever follows it is his own.
    std::string cursor;
    std::string seen;
    do {
        const std::string params = after(cursor);
        const parsed page(ask("admin", "tools/list", {}, params).message());
        const parsed other(ask("none", "tools/list", {}, params).message());
        for (const json::view one : other["result"]["tools"].elements()) {
            seen.append(one["name"].str()).append(" ");
        }
        cursor = page["result"]["nextCursor"].str();
    } while (!cursor.empty());
    EXPECT_EQ(seen.find("aa_read"), seen.npos) << seen;
    EXPECT_EQ(seen.find("bb_write"), seen.npos) << seen;
}

TEST_F(guarded_scopes, prompts_and_resources) {
    const auto prompt = [this](std::string_view who) {
        return ask(who, "prompts/get", "secret", R"("name":"secret")");
    };
    EXPECT_EQ(prompt("admin").status, 200);
    expect_forbidden(prompt("writer"), "prompts");
    EXPECT_EQ(read("none", "test://a").status, 200);
    EXPECT_EQ(read("reader", "test://b").status, 200);
    expect_forbidden(read("none", "test://b"), "files:read");
    EXPECT_EQ(read("admin", "test://deep/1").status, 200);
    expect_forbidden(read("reader", "test://deep/1"), "deep");
    EXPECT_EQ(read("admin", "shelf://1").status, 200);
    expect_forbidden(read("writer", "shelf://1"), "library");
}

TEST_F(guarded_scopes, completion_needs_those_of_the_method_and_of_what_is_completed) {
    const auto complete = [this](std::string_view who) {
        return ask(who, "completion/complete", {},
                   R"("ref":{"type":"ref/resource","uri":"test://deep/{id}"},)"
                   R"("argument":{"name":"id","value":""})");
    };
    EXPECT_EQ(complete("admin").status, 200);
    // All at once, so that one round to the issuer is enough.
    expect_forbidden(complete("none"), "complete deep");
    const auto greet = [this](std::string_view who) {
        return ask(who, "completion/complete", {},
                   R"("ref":{"type":"ref/prompt","name":"secret"},)"
                   R"("argument":{"name":"name","value":""})");
    };
    expect_forbidden(greet("writer"), "complete prompts");
}

TEST_F(guarded_scopes, nobody_hears_of_what_he_may_not_read) {
    const auto listen = [this](std::string_view who, std::string_view uri) {
        return ask(who, "subscriptions/listen", {},
                   R"("notifications":{"resourceSubscriptions":[")" + std::string(uri) + "\"]}");
    };
    EXPECT_EQ(listen("reader", "test://b").status, 200);
    expect_forbidden(listen("none", "test://b"), "files:read");
    expect_forbidden(listen("none", "test://deep/7"), "deep");
    expect_forbidden(listen("none", "shelf://1"), "library");
    EXPECT_EQ(listen("none", "test://a").status, 200);
    w.http->close_all();
}

TEST_F(guarded_scopes, a_session_is_no_way_around) {
    header_list reader{{"Authorization", "Bearer reader-token-0123456789"}};
    client& c = w.connect();
    const http_reply opened = c.ask(http_request("POST", reader, initialize_body("2025-11-25")));
    ASSERT_EQ(opened.status, 200);
    reader.emplace_back("Mcp-Session-Id", opened.headers.at("mcp-session-id"));
    c.ask(
        http_request("POST", reader, R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
    EXPECT_EQ(c.ask(http_request("POST", reader, call_body("2", "aa_read"))).status, 200);
    expect_forbidden(c.ask(http_request("POST", reader, call_body("3", "bb_write"))),
                     "files:read files:write");
    const std::string subscribe = message("4", "resources/subscribe", R"("uri":"shelf://1")");
    expect_forbidden(c.ask(http_request("POST", reader, subscribe)), "library");
}

TEST_F(guarded_scopes, in_a_batch_the_error_says_it) {
    header_list h{{"Authorization", "Bearer none-token-0123456789"}};
    client& c = w.connect();
    const http_reply opened = c.ask(http_request("POST", h, initialize_body("2025-03-26")));
    h.emplace_back("Mcp-Session-Id", opened.headers.at("mcp-session-id"));
    c.ask(http_request("POST", h, R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
    const http_reply r = c.ask(http_request(
        "POST", h, "[" + call_body("2", "whoami") + "," + call_body("3", "aa_read") + "]"));
    EXPECT_EQ(r.status, 200);
    const parsed all(r.message());
    EXPECT_EQ(all.root().size(), 2U) << r.body;
    EXPECT_EQ(all.root()[std::size_t{1}]["id"].i64(), 3);
    EXPECT_EQ(all.root()[std::size_t{1}]["error"]["data"]["scope"].str(), "files:read");
}

// ---- those without tokens ----

TEST(scopes_of_others, whoever_needs_no_token_may_use_everything) {
    world w(guarded_world());
    EXPECT_EQ(parsed(w.connect().ask(modern_call("1", "bb_write")).message()).text(), " reads");
    pipe_end pipe(w);
    const parsed said = pipe.ask(modern_body("1", "tools/call", call_params("bb_write", "{}")));
    EXPECT_EQ(said.text(), " reads");
}

// ---- what may be registered ----

TEST(scopes_registered, what_is_no_scope_or_protects_nothing_is_refused) {
    const auto fault_of = [](const std::function<void(server&)>& add) {
        server s("test", "1");
        add(s);
        return registration_fault(s);
    };
    EXPECT_EQ(fault_of([](server& s) { s.tool("x").scope("a b").run(&who); }),
              "tool x: a scope is 1 to 128 visible ASCII characters, no \" and no \\");
    EXPECT_EQ(fault_of([](server& s) { s.method_scope("tools/cal", "a"); }),
              "there is no method tools/cal");
    EXPECT_EQ(fault_of([](server& s) {
                  s.resource_template("t://{x}").name("t").scope("a").served_by_provider();
              }),
              "resource t://{x}: its provider reads it, and has the scopes");
}

TEST(scopes_registered, the_operator_wins_and_names_what_there_is) {
    server s("test", "1");
    s.tool("x").scope("a").run(&who);
    s.prompt("p").run(
        [](context& ctx, json::view) -> task<prompt_result> { co_return ctx.prompt(); });
    s.resource("test://r").name("r").text("r");
    using kind = pillion::detail::operator_scopes::kind;
    pillion::detail::definitions& defs = s.state().defs;
    defs.guards = {{kind::tool, "x", {}},
                   {kind::prompt, "p", {"b"}},
                   {kind::resource, "test://r", {"c"}},
                   {kind::method, "tools/list", {"d"}}};
    registration_faults faults;
    apply_operator_scopes(defs, faults);
    EXPECT_EQ(faults.joined(), "");
    const auto made = frozen(s);
    EXPECT_EQ(made->scopes(), (pillion::detail::scope_list{"b", "c", "d"}));
    EXPECT_FALSE(made->guards(guarded::tools));
    EXPECT_TRUE(made->guards(guarded::prompts));
    EXPECT_EQ(made->method_scopes(method_id::tools_list), pillion::detail::scope_list{"d"});
    for (const kind of : {kind::tool, kind::prompt, kind::resource, kind::method}) {
        defs.guards = {{of, "absent", {"z"}}, {kind::prompt, "p", {"y"}}};
        registration_faults unknown;
        apply_operator_scopes(defs, unknown);
        ASSERT_EQ(unknown.size(), 1U);
        EXPECT_EQ(unknown[0].name, "absent");
        EXPECT_EQ(unknown[0].part, "scopes");
        EXPECT_EQ(unknown[0].text, std::string(unknown[0].section) +
                                       ".absent.scopes: there is nothing of that name");
        EXPECT_EQ(defs.prompts[0]->scopes, pillion::detail::scope_list{"y"});
    }
}

}  // namespace
}  // namespace pillion::mcp::testing
