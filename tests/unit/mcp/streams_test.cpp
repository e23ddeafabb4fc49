// Batches of 2025-03-26, the streams on which the server speaks by itself, and the four lists.
#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

// ---- batches ----

class batches {
 public:
    world w;
    std::string session = w.open_session("2025-03-26");
    client& c = w.connect();

    http_reply ask(std::string_view body) { return c.ask(legacy_post(session, body)); }
};

const std::string echo_a = call_body("1", "echo", R"({"text":"a"})");
const std::string echo_b = call_body("\"2\"", "echo", R"({"text":"b"})");

std::string batch(std::initializer_list<std::string> members) {
    std::string out = "[";
    for (const std::string& m : members) {
        out += (out.size() > 1 ? "," : "") + m;
    }
    return out + "]";
}

TEST(batches, requests_are_answered_in_one_array) {
    batches b;
    const http_reply r = b.ask(batch({echo_a, message("", "notifications/initialized", ""), echo_b,
                                      message("3", "nonsense", "")}));
    EXPECT_EQ(r.status, 200);
    EXPECT_FALSE(r.streamed());
    const parsed p(r.body);
    ASSERT_EQ(p.root().size(), 3U);
    EXPECT_EQ(p.root()[0]["id"].i64(), 1);
    EXPECT_EQ(p.root()[1]["id"].str(), "2");
    EXPECT_EQ(p.root()[2]["error"]["code"].i64(), -32601);
    EXPECT_EQ(b.w.left(), "");
}

TEST(batches, nothing_to_answer_is_202) {
    batches b;
    const http_reply r = b.ask(batch(
        {message("", "notifications/initialized", ""), R"({"jsonrpc":"2.0","id":4,"result":{}})"}));
    EXPECT_EQ(r.status, 202);
    EXPECT_EQ(r.body, "");
    EXPECT_EQ(b.w.left(), "");
}

TEST(batches, bad_members_get_an_error_each) {
    batches b;
    const parsed p(b.ask(batch({"7", "[]", R"({"jsonrpc":"2.0","id":9})", echo_a})).body);
    ASSERT_EQ(p.root().size(), 4U) << p.raw();
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(p.root()[i]["error"]["code"].i64(), -32600);
    }
    EXPECT_TRUE(p.root()[0]["id"].is_null());
    EXPECT_EQ(p.root()[2]["id"].i64(), 9);
}

TEST(batches, initialize_inside_is_refused_alone) {
    batches b;
    const parsed p(b.ask(batch({initialize_body("2025-03-26", "0"), echo_a})).body);
    ASSERT_EQ(p.root().size(), 2U);
    EXPECT_EQ(p.root()[0]["error"]["code"].i64(), -32600);
    EXPECT_TRUE(p.root()[1]["result"].is_object());
    EXPECT_EQ(b.w.service->sessions().size(), 1U);
}

TEST(batches, empty_too_long_and_sessionless_ones_are_400) {
    batches b;
    EXPECT_EQ(b.ask("[]").status, 400);
    EXPECT_EQ(parsed(b.ask("[]").body).code(), -32600);
    std::string many = "[" + echo_a;
    for (int i = 0; i < 100; ++i) {
        many += "," + echo_a;
    }
    EXPECT_EQ(b.ask(many + "]").status, 400);
    EXPECT_EQ(b.c.ask(http_request("POST", {}, batch({echo_a}))).status, 400);
    EXPECT_EQ(b.w.left(), "");
}

TEST(batches, exist_in_2025_03_26_alone) {
    batches b;
    for (const char* version : {"2024-11-05", "2025-06-18", "2025-11-25"}) {
        const http_reply r = b.c.ask(legacy_post(b.w.open_session(version), batch({echo_a})));
        EXPECT_EQ(r.status, 400);
        EXPECT_EQ(parsed(r.body).code(), -32600);
    }
    EXPECT_EQ(b.c.ask(http_request("POST", {{"MCP-Protocol-Version", "2026-07-28"}},
                                   batch({modern_body("1", "tools/list")})))
                  .status,
              400);
}

TEST(batches, a_member_that_speaks_before_the_end_makes_it_a_stream) {
    batches b;
    const http_reply r = b.ask(batch(
        {echo_a, call_body("5", "steps", R"({"count":2})", R"("progressToken":"t")"), echo_b}));
    ASSERT_TRUE(r.streamed() && r.complete);
    ASSERT_EQ(r.events.size(), 5U) << r.body;
    EXPECT_EQ(parsed(r.events[0]).root()[0]["id"].i64(), 1);
    std::size_t results = 0;
    for (const std::string& event : r.events) {
        EXPECT_TRUE(parsed(event).good());
        results += parsed(event)["result"].exists() ? 1 : 0;
    }
    EXPECT_EQ(results, 2U);
    EXPECT_EQ(b.w.left(), "");
}

TEST(batches, slow_members_are_waited_for_cancelled_ones_are_left_out) {
    batches b;
    b.c.send(legacy_post(b.session, batch({call_body("1", "nap", R"({"ms":300})"),
                                           call_body("2", "watch"), echo_b})));
    EXPECT_TRUE(b.c.replies().empty());
    b.w.connect().ask(
        legacy_post(b.session, message("", "notifications/cancelled", R"("requestId":2)")));
    b.w.pass_ms(400);
    const parsed p(b.c.replies().at(0).body);
    ASSERT_EQ(p.root().size(), 2U) << p.raw();
    EXPECT_EQ(p.root()[0]["id"].str(), "2");
    EXPECT_EQ(p.root()[1]["id"].i64(), 1);
    EXPECT_EQ(b.w.left(), "");
}

TEST(batches, deadline_of_a_member_is_its_own) {
    batches b;
    b.c.send(legacy_post(b.session, batch({call_body("1", "stubborn"), echo_b})));
    b.w.pass_ms(1100);
    const parsed p(b.c.replies().at(0).body);
    ASSERT_EQ(p.root().size(), 2U);
    EXPECT_EQ(p.root()[1]["error"]["code"].i64(), -32004);
    b.w.on.gate.set();
    EXPECT_EQ(b.w.left(), "");
}

TEST(batches, go_on_without_their_client) {
    batches b;
    b.c.send(legacy_post(b.session, batch({call_body("1", "nap", R"({"ms":300})"),
                                           call_body("2", "steps", R"({"count":9,"pause":50})",
                                                     R"("progressToken":1)")})));
    b.c.peer().reset();
    b.w.settle();
    EXPECT_EQ(b.w.on.inside, 2);
    b.w.pass_ms(600);
    EXPECT_EQ(b.w.left(), "");
}

// ---- listening (2026-07-28) ----

std::string listen_for(std::string_view id, std::string_view filters) {
    return modern_post(
        "subscriptions/listen", "",
        modern_body(id, "subscriptions/listen", R"("notifications":)" + std::string(filters)));
}

TEST(listening, is_acknowledged_first_with_what_is_honoured) {
    world w;
    struct row {
        const char* filters;
        const char* honoured;
    };
    const row rows[] = {
        {"{}", "{}"},
        {R"({"toolsListChanged":true,"promptsListChanged":false})", R"({"toolsListChanged":true})"},
        {R"({"taskIds":["x"],"unknown":7})", "{}"},
        {R"({"resourceSubscriptions":["test://a"],"resourcesListChanged":true})",
         R"({"resourcesListChanged":true,"resourceSubscriptions":["test://a"]})"},
    };
    for (const row& r : rows) {
        for (const char* id : {"7", "\"7\""}) {
            client& c = w.connect();
            c.send(listen_for(id, r.filters));
            const http_reply got = c.replies().at(0);
            EXPECT_FALSE(got.complete);
            ASSERT_EQ(got.events.size(), 1U);
            EXPECT_EQ(got.events[0],
                      R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",)"
                      R"("params":{"notifications":)" +
                          std::string(r.honoured) +
                          R"(,"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + "}}}");
        }
    }
}

TEST(listening, malformed_filters_are_refused) {
    world w;
    client& c = w.connect();
    for (const char* filters : {"7", "null", "[]", R"({"resourceSubscriptions":"x"})",
                                R"({"resourceSubscriptions":[1]})", R"({"toolsListChanged":1})"}) {
        EXPECT_EQ(c.ask_message(listen_for("1", filters)).code(), -32602) << filters;
    }
    EXPECT_EQ(c.ask_message(modern_post("subscriptions/listen", "",
                                        modern_body("1", "subscriptions/listen")))
                  .code(),
              -32602);
    EXPECT_EQ(w.left(), "");
}

std::string uris(std::size_t count, std::size_t bytes) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string uri = "u://" + std::to_string(i);
        list += (i == 0 ? "\"" : ",\"") + uri + std::string(bytes - uri.size(), 'x') + "\"";
    }
    return R"({"resourceSubscriptions":[)" + list + "]}";
}

// Sessions could subscribe to so many resources and no more; a stream to as many as a body holds,
// each of which was looked through with every change.
TEST(listening, a_stream_subscribes_to_no_more_than_a_session) {
    world_options o;
    o.limit.session.subscriptions_max = 3;
    world w(o);
    client& c = w.connect();
    const http_reply refused = c.ask(listen_for("1", uris(4, 10)));
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(parsed(refused.message()).code(), -32003);
    EXPECT_EQ(w.engine->refusals()[limited_by::subscriptions], 1U);
    EXPECT_EQ(c.send(listen_for("2", uris(3, 10))).replies().back().status, 200);
}

TEST(listening, too_many_tasks_are_named_as_such) {
    world w;
    std::string ids = "\"t\"";
    for (std::size_t i = 0; i < limits::task_ids_per_listen_max; ++i) {
        ids += ",\"t\"";
    }
    const parsed refused = w.connect().ask_message(listen_for("1", R"({"taskIds":[)" + ids + "]}"));
    EXPECT_EQ(refused.code(), -32602);
    EXPECT_EQ(refused["error"]["message"].str(), "Too many taskIds");
}

// One of a megabyte was kept twice for as long as its session.
TEST(listening, no_uri_that_is_kept_is_longer_than_8_KiB) {
    world w;
    client& c = w.connect();
    EXPECT_EQ(c.ask_message(listen_for("1", uris(1, limits::target_bytes_max + 1))).code(), -32602);
    const std::string session = w.open_session("2025-06-18");
    for (const std::size_t bytes : {limits::target_bytes_max, limits::target_bytes_max + 1}) {
        const std::string uri = R"("uri":")" + std::string(bytes, 'u') + "\"";
        const parsed answer =
            c.ask_message(legacy_post(session, message("1", "resources/subscribe", uri)));
        EXPECT_EQ(answer.code(), bytes > limits::target_bytes_max ? -32602 : 0);
    }
    EXPECT_EQ(c.send(listen_for("2", uris(1, limits::target_bytes_max))).replies().back().status,
              200);
}

TEST(listening, only_what_was_asked_for_is_told_with_the_tag) {
    world w;
    client& tools = w.connect();
    client& items = w.connect();
    tools.send(listen_for("1", R"({"toolsListChanged":true})"));
    items.send(listen_for("\"b\"", R"({"resourceSubscriptions":["test://a","test://b"]})"));
    w.host.tools_changed();
    w.host.prompts_changed();
    w.host.resources_changed();
    w.host.resource_updated("test://b");
    w.host.resource_updated("test://c");
    w.settle();
    const auto heard_tools = tools.replies().at(0).events;
    ASSERT_EQ(heard_tools.size(), 2U);
    EXPECT_EQ(heard_tools[1],
              R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":)"
              R"({"io.modelcontextprotocol/subscriptionId":1}}})");
    const auto heard_items = items.replies().at(0).events;
    ASSERT_EQ(heard_items.size(), 2U);
    EXPECT_EQ(heard_items[1],
              R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":)"
              R"({"uri":"test://b","_meta":{"io.modelcontextprotocol/subscriptionId":"b"}}})");
}

TEST(listening, has_no_deadline_and_ends_with_a_result_when_the_server_drains) {
    world w;
    client& c = w.connect();
    c.send(listen_for("3", R"({"toolsListChanged":true})"));
    w.pass_ms(3'600'000);
    EXPECT_FALSE(c.replies().at(0).complete);
    EXPECT_EQ(c.replies().at(0).events.size(), 1U);
    w.engine->drain();
    w.settle();
    const http_reply r = c.replies().at(0);
    EXPECT_TRUE(r.complete);
    ASSERT_EQ(r.events.size(), 2U);
    const parsed p(r.events[1]);
    EXPECT_EQ(p.id(), "3");
    EXPECT_EQ(p["result"]["resultType"].str(), "complete");
    EXPECT_EQ(p["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"].i64(), 3);
    EXPECT_EQ(w.left(), "");
}

TEST(listening, a_client_that_goes_is_forgotten) {
    world w;
    client& c = w.connect();
    c.send(listen_for("3", R"({"toolsListChanged":true})"));
    c.peer().reset();
    EXPECT_EQ(w.left(), "");
    w.host.tools_changed();
    EXPECT_EQ(w.left(), "");
}

// ---- the GET stream of a session ----

std::string open_stream(std::string_view session) {
    return http_request(
        "GET", {{"Mcp-Session-Id", std::string(session)}, {"Accept", "text/event-stream"}}, "");
}

TEST(legacy_stream, messages_go_to_the_newest_open_one) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& first = w.connect();
    client& second = w.connect();
    first.send(open_stream(session));
    w.host.tools_changed();
    w.settle();
    second.send(open_stream(session));
    w.host.prompts_changed();
    w.settle();
    EXPECT_EQ(first.replies().at(0).events.size(), 1U);
    EXPECT_EQ(second.replies().at(0).events.size(), 1U);
    second.peer().reset();
    w.settle();
    w.host.resources_changed();
    w.settle();
    const auto events = first.replies().at(0).events;
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1], R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed"})");
}

TEST(legacy_stream, updates_only_of_what_the_session_subscribed_to) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    const std::string other = w.open_session("2025-06-18");
    client& c = w.connect();
    client& stream = w.connect();
    client& foreign = w.connect();
    stream.send(open_stream(session));
    foreign.send(open_stream(other));
    const auto ask = [&](const char* method) {
        return c.ask_message(legacy_post(session, message("1", method, R"("uri":"test://a")")));
    };
    w.host.resource_updated("test://a");
    w.settle();
    EXPECT_EQ(ask("resources/subscribe").raw(), R"({"jsonrpc":"2.0","id":1,"result":{}})");
    w.host.resource_updated("test://a");
    w.host.resource_updated("test://b");
    w.settle();
    ask("resources/unsubscribe");
    w.host.resource_updated("test://a");
    w.settle();
    const auto events = stream.replies().at(0).events;
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(parsed(events[0])["params"]["uri"].str(), "test://a");
    EXPECT_TRUE(foreign.replies().at(0).events.empty());
    EXPECT_EQ(c.ask_message(legacy_post(session, message("1", "resources/subscribe", ""))).code(),
              -32602);
}

// Two shards hear of a change at different times. When the newest stream had told it and then
// broke, the stream of the slower shard was the newest as the change reached it, and told it again.
TEST(legacy_stream, a_change_that_another_shard_told_is_not_told_again) {
    world w;
    const std::string id = w.open_session("2025-06-18");
    client& older = w.connect();
    older.send(http_request("GET", {{"Mcp-Session-Id", id}, {"Accept", "text/event-stream"}}, ""));
    const session_ref s = w.service->sessions().find(id);
    const std::uint64_t elsewhere = s->open_stream(w.service->published());
    ASSERT_TRUE(s->claim(1));
    s->close_stream(elsewhere);
    w.host.tools_changed();
    w.settle();
    EXPECT_TRUE(older.replies().back().events.empty());
    w.host.tools_changed();
    w.settle();
    EXPECT_EQ(older.replies().back().events.size(), 1U);
}

// The other way round: it broke before it told.
TEST(legacy_stream, a_change_that_nobody_told_is_caught_up_with) {
    world w;
    const std::string id = w.open_session("2025-06-18");
    client& older = w.connect();
    older.send(http_request("GET", {{"Mcp-Session-Id", id}, {"Accept", "text/event-stream"}}, ""));
    const session_ref s = w.service->sessions().find(id);
    const std::uint64_t elsewhere = s->open_stream(w.service->published());
    w.host.tools_changed();
    w.host.prompts_changed();
    w.settle();
    EXPECT_TRUE(older.replies().back().events.empty());
    ASSERT_TRUE(s->claim(1));
    ASSERT_TRUE(s->close_stream(elsewhere));
    w.engine->changes().stream_promoted(s.get());
    w.settle();
    const auto events = older.replies().back().events;
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(parsed(events[0]).root()["method"].str(), "notifications/prompts/list_changed");
}

TEST(legacy_stream, a_first_stream_begins_with_the_present) {
    world w;
    const std::string id = w.open_session("2025-06-18");
    w.service->publish(change::tools);
    w.settle();
    client& c = w.connect();
    c.send(http_request("GET", {{"Mcp-Session-Id", id}, {"Accept", "text/event-stream"}}, ""));
    EXPECT_TRUE(c.replies().back().events.empty());
    w.service->publish(change::prompts);
    w.settle();
    EXPECT_EQ(c.replies().back().events.size(), 1U);
}

TEST(legacy_stream, needs_a_session_and_the_right_accept) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    const header_list accept = {{"Accept", "text/event-stream"}};
    EXPECT_EQ(c.ask(http_request("GET", accept, "")).status, 400);
    EXPECT_EQ(c.ask(open_stream("nobody")).status, 404);
    EXPECT_EQ(c.ask(http_request("GET",
                                 {{"Mcp-Session-Id", session}, {"Accept", "application/json"}}, ""))
                  .status,
              406);
    header_list modern = accept;
    modern.emplace_back("MCP-Protocol-Version", "2026-07-28");
    const http_reply r = c.ask(http_request("GET", modern, ""));
    EXPECT_EQ(r.status, 405);
    EXPECT_TRUE(r.headers.contains("allow"));
}

// ---- lists ----

TEST(lists, pages_follow_each_other_in_both_eras) {
    world_options o;
    o.more = [](server& s) { s.page_size(5); };
    world w(o);
    const std::string session = w.open_session("2025-06-18");
    client& c = w.connect();
    for (const bool modern : {true, false}) {
        std::vector<std::string> names;
        std::string cursor;
        for (int page = 0; page < 10; ++page) {
            const std::string params = cursor.empty() ? "" : R"("cursor":")" + cursor + "\"";
            const parsed p =
                modern ? c.ask_message(
                             modern_post("tools/list", "", modern_body("1", "tools/list", params)))
                       : c.ask_message(legacy_post(session, message("1", "tools/list", params)));
            EXPECT_EQ(p["result"]["cacheScope"].exists(), modern);
            for (const json::view t : p["result"]["tools"].elements()) {
                names.emplace_back(t["name"].str());
            }
            cursor = p["result"]["nextCursor"].str();
            if (cursor.empty()) {
                EXPECT_FALSE(p["result"]["nextCursor"].exists());
                break;
            }
        }
        ASSERT_EQ(names.size(), w.service->registered()->tools().size());
        for (std::size_t i = 0; i < names.size(); ++i) {
            EXPECT_EQ(names[i], w.service->registered()->tools()[i].definition->name);
        }
    }
}

TEST(lists, cursors_of_others_are_invalid) {
    world_options o;
    o.more = [](server& s) { s.page_size(1); };
    world w(o);
    client& c = w.connect();
    const auto list = [&](const std::string& method, const std::string& cursor) {
        return c.ask_message(
            modern_post(method, "", modern_body("1", method, R"("cursor":)" + cursor)));
    };
    const parsed first =
        c.ask_message(modern_post("tools/list", "", modern_body("1", "tools/list")));
    const std::string good = "\"" + std::string(first["result"]["nextCursor"].str()) + "\"";
    EXPECT_EQ(list("tools/list", good).code(), 0);
    for (const char* method : {"prompts/list", "resources/list", "resources/templates/list"}) {
        EXPECT_EQ(list(method, good).code(), -32602) << method;
    }
    for (const char* bad : {"\"\"", "\"x\"", "7", "null", "{}"}) {
        EXPECT_EQ(list("tools/list", bad).code(), -32602) << bad;
    }
}

TEST(lists, discover_says_everything) {
    world w;
    const parsed p = w.connect().ask_message(
        modern_post("server/discover", "", modern_body("1", "server/discover")));
    EXPECT_EQ(p["result"]["supportedVersions"].size(), 5U);
    EXPECT_TRUE(p["result"]["capabilities"]["tools"].is_object());
    EXPECT_TRUE(p["result"]["ttlMs"].is_number());
    EXPECT_EQ(p["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["version"].str(), "1.2.3");
    EXPECT_FALSE(p["result"]["serverInfo"].exists());
}

}  // namespace
}  // namespace pillion::mcp::testing
