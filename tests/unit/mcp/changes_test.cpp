// Changes and who hears of them: bursts are told once, the last change is never lost, who does not
// read is held back and cut, many listeners are told over several turns.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

constexpr std::string_view both = R"({"toolsListChanged":true,"resourceSubscriptions":["test://a",)"
                                  R"("test://b"]})";

std::string listening(std::string_view id, std::string_view what) {
    return modern_body(id, "subscriptions/listen", R"("notifications":)" + std::string(what));
}

client& listen(world& w, std::string_view what = both) {
    client& c = w.connect();
    c.send(modern_post("subscriptions/listen", "", listening("1", what)));
    return c;
}

client& get(world& w, const std::string& session, header_list more = {}) {
    more.insert(more.end(), {{"Mcp-Session-Id", session}, {"Accept", "text/event-stream"}});
    client& c = w.connect();
    c.send(http_request("GET", more, ""));
    return c;
}

void subscribe(world& w, const std::string& session, std::string_view uri) {
    const std::string wanted = R"("uri":")" + std::string(uri) + "\"";
    const parsed p =
        w.connect().ask_message(legacy_post(session, message("1", "resources/subscribe", wanted)));
    EXPECT_TRUE(p["result"].exists()) << p.raw();
}

// What notifications say, in short: "tools a b".
std::string told(const std::vector<std::string>& messages) {
    std::string all;
    for (const std::string& text : messages) {
        const parsed p(text);
        const std::string_view method = p["method"].str();
        std::string word;
        if (method == "notifications/resources/updated") {
            word = p["params"]["uri"].str().substr(7);
        } else if (method.ends_with("/list_changed")) {
            word = method.substr(14, method.size() - 14 - 13);
        }
        all += (all.empty() || word.empty() ? "" : " ") + word;
    }
    return all;
}
std::string told(client& c) { return told(c.replies().back().events); }

// ---- the board ----

TEST(change_board, keeps_the_last_change_of_each_thing_in_order) {
    change_board board;
    EXPECT_TRUE(board.add("a"));
    EXPECT_FALSE(board.add("a"));
    EXPECT_TRUE(board.add("b"));
    EXPECT_TRUE(board.note(change::tools, {}));
    EXPECT_TRUE(board.note(change::resource_updated, "b"));
    EXPECT_TRUE(board.note(change::resource_updated, "a"));
    EXPECT_TRUE(board.note(change::tools, {}));
    const auto all = board.since(0);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].uri, "b");
    EXPECT_EQ(all[0].number, 2U);
    EXPECT_EQ(all[1].uri, "a");
    EXPECT_EQ(all[2].what, change::tools);
    EXPECT_EQ(all[2].number, 4U);
    EXPECT_EQ(board.since(3).size(), 1U);
    EXPECT_TRUE(board.since(4).empty());
    EXPECT_EQ(board.last(), 4U);
}

TEST(change_board, is_bounded_by_what_is_subscribed_to) {
    change_board board;
    board.add("a");
    board.add("a");
    for (int i = 0; i < 1000; ++i) {
        EXPECT_FALSE(board.note(change::resource_updated, "x" + std::to_string(i)));
        EXPECT_TRUE(board.note(change::resource_updated, "a"));
    }
    EXPECT_EQ(board.since(0).size(), 1U);
    EXPECT_FALSE(board.remove("a"));
    EXPECT_EQ(board.since(0).size(), 1U);
    EXPECT_TRUE(board.remove("a"));
    EXPECT_TRUE(board.since(0).empty());
    EXPECT_EQ(board.uris(), 0U);
}

// ---- bursts ----

TEST(changes, a_burst_is_told_once_in_the_order_of_the_last_changes) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    subscribe(w, session, "test://a");
    subscribe(w, session, "test://b");
    client& modern = listen(w);
    client& legacy = get(w, session);
    pipe_end pipe(w);
    pipe.line(listening("9", both));
    pipe.fresh();
    for (int i = 0; i < 100; ++i) {
        w.host.tools_changed();
        w.host.resource_updated("test://b");
        w.host.resource_updated("test://a");
        w.host.resource_updated("test://nobody");
    }
    w.host.resource_updated("test://b");
    w.settle();
    EXPECT_EQ(told(modern), "tools a b");
    EXPECT_EQ(told(legacy), "tools a b");
    EXPECT_EQ(told(pipe.fresh()), "tools a b");
    // What comes behind is told again.
    w.host.resource_updated("test://a");
    w.settle();
    EXPECT_EQ(told(modern), "tools a b a");
    EXPECT_EQ(told(legacy), "tools a b a");
    EXPECT_EQ(told(pipe.fresh()), "a");
    EXPECT_EQ(w.service->published(), 302U);
}

TEST(changes, a_handlers_burst_is_told_once) {
    world_options o;
    o.more = [](server& s) {
        s.tool("burst").run([](context& ctx) -> tool_result {
            for (int i = 0; i < 1000; ++i) {
                ctx.host().tools_changed();
            }
            return ctx.text("done");
        });
    };
    world w(o);
    client& c = listen(w);
    w.connect().send(
        modern_post("tools/call", "burst", modern_body("2", "tools/call", R"("name":"burst")")));
    EXPECT_EQ(told(c), "tools");
}

TEST(changes, what_happened_before_is_not_told) {
    world w;
    subscribe(w, w.open_session("2025-06-18"), "test://a");
    w.host.tools_changed();
    w.host.resource_updated("test://a");
    // Published, but not told yet.
    client& c = w.connect();
    c.send(modern_post("subscriptions/listen", "", listening("1", both)));
    EXPECT_EQ(told(c), "");
    w.host.resource_updated("test://a");
    w.settle();
    EXPECT_EQ(told(c), "a");
}

// ---- many listeners ----

TEST(changes, many_listeners_hear_everything_once_over_several_turns) {
    world w;
    std::vector<client*> all;
    for (int i = 0; i < 600; ++i) {
        all.push_back(&listen(w));
    }
    w.host.tools_changed();
    w.net.loop().run_one(0);
    // A part of them has been told. Now more happens, and some leave.
    w.host.resource_updated("test://a");
    w.host.tools_changed();
    for (std::size_t i = 0; i < all.size(); i += 7) {
        all[i]->peer().reset();
    }
    w.settle();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i % 7 != 0) {
            const std::string heard = told(*all[i]);
            EXPECT_TRUE(heard == "tools a tools" || heard == "a tools") << i << ": " << heard;
        }
    }
    w.host.resource_updated("test://b");
    w.settle();
    for (std::size_t i = 1; i < all.size(); i += 7) {
        EXPECT_TRUE(told(*all[i]).ends_with("a tools b")) << told(*all[i]);
    }
}

TEST(changes, draining_ends_many_streams_even_while_they_are_told) {
    world w;
    std::vector<client*> all;
    for (int i = 0; i < 300; ++i) {
        all.push_back(&listen(w));
        all.push_back(&get(w, w.open_session("2025-06-18")));
        w.service->sessions().remove("none");
        if (i == 90) {
            break;  // as many sessions as the world has
        }
    }
    while (all.size() < 700) {
        all.push_back(&listen(w));
    }
    w.host.tools_changed();
    w.net.loop().run_one(0);
    w.engine->drain();
    w.settle();
    for (client* c : all) {
        const http_reply r = c->replies().back();
        EXPECT_TRUE(r.complete);
        ASSERT_TRUE(r.streamed());
    }
    const parsed last(all.back()->replies().back().events.back());
    EXPECT_EQ(last["result"]["resultType"].str(), "complete");
    EXPECT_EQ(w.left(), "");
}

TEST(changes, an_idle_stream_holds_no_chunk_and_no_request) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    w.settle();
    const std::size_t before = w.net.loop().chunks().live();
    listen(w);
    get(w, session);
    w.host.tools_changed();
    w.settle();
    EXPECT_EQ(w.net.loop().chunks().live(), before);
    EXPECT_EQ(w.engine->live_requests(), 0U);
}

// ---- who does not read ----

// The same things over many turns, and something else at the end.
void change_much(world& w, int turns) {
    for (int i = 0; i < turns; ++i) {
        w.host.tools_changed();
        w.host.resource_updated("test://a");
        w.net.loop().run_one(0);
        w.net.loop().run_one(0);
    }
    w.host.resource_updated("test://b");
    w.settle();
}

TEST(slow_listener, holds_a_bounded_amount_and_hears_the_last_of_everything_when_it_reads) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    subscribe(w, session, "test://a");
    subscribe(w, session, "test://b");
    client& modern = listen(w);
    client& legacy = get(w, session);
    client& other = listen(w);
    modern.peer().block(true);
    legacy.peer().block(true);
    const std::size_t before = w.net.loop().chunks().live();
    change_much(w, 5000);
    const std::size_t held = w.net.loop().chunks().live() - before;
    change_much(w, 5000);
    EXPECT_LE(w.net.loop().chunks().live() - before, held);
    EXPECT_LT(held, 2 * limits::out_queue_bytes_high / 100);
    EXPECT_EQ(other.replies().back().events.size(), 1U + 2U * (2 * 5000 + 1));
    modern.peer().block(false);
    legacy.peer().block(false);
    w.settle();
    w.pass_ms(1000);
    for (client* c : {&modern, &legacy}) {
        EXPECT_TRUE(told(*c).ends_with(" tools a b")) << told(*c).substr(told(*c).size() - 40);
        const std::string all = told(*c);
        // "b" had changed twice by then, and was told once.
        EXPECT_EQ(std::count(all.begin(), all.end(), 'b'), 1);
    }
    w.host.tools_changed();
    w.settle();
    EXPECT_TRUE(told(modern).ends_with(" b tools"));
    EXPECT_TRUE(told(legacy).ends_with(" b tools"));
    EXPECT_EQ(w.net.loop().chunks().live(), before);
}

TEST(slow_listener, is_cut_when_it_does_not_read_at_all) {
    world w;
    const std::string session = w.open_session("2025-11-25");
    subscribe(w, session, "test://a");
    subscribe(w, session, "test://b");
    client& modern = listen(w);
    client& legacy = get(w, session);
    client& other = listen(w);
    modern.peer().block(true);
    legacy.peer().block(true);
    change_much(w, 5000);
    w.pass_ms(limits::listener_behind_ms - 1000);
    w.host.tools_changed();
    w.settle();
    EXPECT_FALSE(modern.peer().closed());
    EXPECT_FALSE(legacy.peer().closed());
    w.pass_ms(1000);
    w.host.resource_updated("test://a");
    w.settle();
    EXPECT_TRUE(modern.peer().closed());
    EXPECT_TRUE(legacy.peer().closed());
    EXPECT_FALSE(other.peer().closed());
    // The session's next stream hears what it was not told, and nothing twice.
    client& back = get(w, session);
    w.host.prompts_changed();
    w.settle();
    EXPECT_TRUE(told(back).ends_with("prompts")) << told(back);
    w.host.tools_changed();
    w.settle();
    EXPECT_TRUE(told(other).ends_with("tools a tools"));
}

// A change that was not told because the client did not read was lost when the stream broke.
TEST(slow_listener, loses_nothing_when_its_stream_breaks) {
    world w;
    const std::string session = w.open_session("2025-11-25");
    subscribe(w, session, "test://a");
    subscribe(w, session, "test://b");
    client& first = get(w, session);
    first.peer().block(true);
    change_much(w, 5000);
    EXPECT_EQ(told(first).find('b'), std::string::npos);
    first.peer().reset();
    w.settle();
    // From the last event that is kept for sure.
    std::uint64_t from = 1;
    event_log::replay missed;
    const session_ref s = w.service->sessions().find(session);
    while (s->events().read({1, from}, missed, 0) == event_log::outcome::gap) {
        ++from;
    }
    client& back = get(w, session, {{"Last-Event-ID", "1-" + std::to_string(from)}});
    ASSERT_EQ(back.replies().back().status, 200);
    EXPECT_TRUE(told(back).ends_with("tools a b")) << told(back);
}

TEST(slow_listener, a_pipe_is_told_the_last_of_everything_once_it_reads) {
    world w;
    pipe_end pipe(w);
    pipe.line(initialize_body("2025-06-18"));
    pipe.line(message("2", "resources/subscribe", R"("uri":"test://a")"));
    pipe.line(message("3", "resources/subscribe", R"("uri":"test://b")"));
    pipe.line(listening("9", both));
    pipe.fresh();
    const std::size_t before = w.net.loop().chunks().live();
    pipe.block(true);
    change_much(w, 3000);
    const std::size_t held = w.net.loop().chunks().live() - before;
    change_much(w, 3000);
    EXPECT_LE(w.net.loop().chunks().live() - before, held);
    w.pass_ms(2 * limits::listener_behind_ms);
    w.host.resource_updated("test://a");
    w.settle();
    pipe.block(false);
    w.settle();
    std::vector<std::string> modern;
    std::vector<std::string> legacy;
    for (const std::string& line : pipe.fresh()) {
        (line.find("subscriptionId") != line.npos ? modern : legacy).push_back(line);
    }
    for (const auto& lines : {modern, legacy}) {
        const std::string all = told(lines);
        EXPECT_TRUE(all.ends_with(" tools b a")) << all.substr(all.size() - 40);
        EXPECT_EQ(std::count(all.begin(), all.end(), 'b'), 1);
    }
    EXPECT_EQ(w.net.loop().chunks().live(), before);
    w.host.tools_changed();
    w.settle();
    EXPECT_EQ(told(pipe.fresh()), "tools tools");
}

}  // namespace
}  // namespace pillion::mcp::testing
