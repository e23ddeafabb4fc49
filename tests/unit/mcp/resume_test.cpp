// Streams that break and are resumed: what a client saw before and after is every event once, in
// order; where that cannot be, it is told so.
#include <gtest/gtest.h>

#include "mcp/event_log.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

struct seen_event {
    std::string id;
    std::string data;
    bool operator==(const seen_event&) const = default;
};
using seen_events = std::vector<seen_event>;

// The events that a client has completely when it has read these bytes of one reply; the empty one
// that primes a stream is among them.
seen_events read_seen(std::string_view bytes) {
    const std::size_t head = bytes.find("\r\n\r\n");
    if (head == bytes.npos) {
        return {};
    }
    bytes.remove_prefix(head + 4);
    std::string body;
    for (std::size_t line = bytes.find("\r\n"); line != bytes.npos; line = bytes.find("\r\n")) {
        const std::size_t size =
            std::strtoul(std::string(bytes.substr(0, line)).c_str(), nullptr, 16);
        body += bytes.substr(line + 2, size);
        bytes.remove_prefix(std::min(bytes.size(), line + 2 + size + 2));
    }
    seen_events out;
    seen_event one;
    bool any = false;
    for (std::size_t end = body.find('\n'); end != body.npos; end = body.find('\n')) {
        const std::string line = body.substr(0, end);
        body.erase(0, end + 1);
        if (line.empty() && any) {
            out.push_back(one);
            one = {};
            any = false;
        } else if (line.starts_with("id: ")) {
            one.id = line.substr(4);
        } else if (line.starts_with("data:")) {
            one.data = line.substr(std::min<std::size_t>(line.size(), 6));
            any = true;
        }
    }
    return out;
}

seen_events read_seen(client& c) { return read_seen(c.peer().received()); }

// The messages, without what only primes.
std::vector<std::string> messages(const seen_events& of) {
    std::vector<std::string> out;
    for (const seen_event& e : of) {
        if (!e.data.empty()) {
            out.push_back(e.data);
        }
    }
    return out;
}

seen_events all_of(seen_events a, const seen_events& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::string come_back(std::string_view session, std::string_view last) {
    return http_request("GET",
                        {{"Mcp-Session-Id", std::string(session)},
                         {"Accept", "text/event-stream"},
                         {"Last-Event-ID", std::string(last)}},
                        "");
}

std::string listen_in(std::string_view session) {
    return http_request(
        "GET", {{"Mcp-Session-Id", std::string(session)}, {"Accept", "text/event-stream"}}, "");
}

std::string call_steps(std::string_view session, int count, int pause_ms) {
    return legacy_call(session, "1", "steps",
                       R"({"count":)" + std::to_string(count) + R"(,"pause":)" +
                           std::to_string(pause_ms) + R"(,"log":true})");
}

std::string call_flood(std::string_view session, int count) {
    return legacy_call(session, "1", "flood", R"({"count":)" + std::to_string(count) + "}");
}

// A message, a pause, and many more; log messages, because progress has a pace of its own.
task<tool_result> two_bursts(context& ctx, json::view args) {
    const std::int64_t count = args["count"].i64().value_or(0);
    co_await ctx.log(log_level::info, "1");
    co_await ctx.sleep(std::chrono::milliseconds(100));
    for (std::int64_t i = 2; i <= count; ++i) {
        co_await ctx.log(log_level::info, std::to_string(i));
    }
    co_return ctx.text("done");
}

world_options patient() {
    world_options o;
    o.more = [](server& s) { s.tool("two_bursts").input(object().open()).run(&two_bursts); };
    o.timeout_ms = 3'600'000;
    o.session_idle_ms = 3'600'000;
    return o;
}

class resuming : public ::testing::TestWithParam<const char*> {
 public:
    world w{patient()};
    std::string session = w.open_session(GetParam());

    // Whether every event has an id of one stream and they count up by one.
    static void expect_in_order(const seen_events& all) {
        std::optional<event_id> last;
        for (const seen_event& e : all) {
            const auto id = event_id::parse(e.id);
            ASSERT_TRUE(id) << e.id;
            if (last) {
                EXPECT_EQ(id->stream, last->stream);
                EXPECT_EQ(id->sequence, last->sequence + 1);
            }
            last = id;
        }
    }
    // What is refused, and why.
    std::string refusal(std::string_view last) {
        const http_reply r = w.connect().ask(come_back(session, last));
        EXPECT_FALSE(r.streamed());
        return std::to_string(r.status) + " " +
               std::string(parsed(r.body)["error"]["message"].str());
    }
};

// The connection breaks when the client has read so many bytes, for every number of them; the call
// still runs, or is over, when the client returns.
TEST_P(resuming, at_every_byte_nothing_is_lost_and_nothing_doubled) {
    client& first = w.connect();
    first.send(call_steps(session, 3, 7));
    w.pass_ms(50);
    const std::string whole = first.peer().received();
    const std::vector<std::string> said = messages(read_seen(whole));
    ASSERT_EQ(said.size(), 4U);
    std::size_t returns = 0;
    for (const bool running : {true, false}) {
        for (std::size_t at = 0; at <= whole.size(); ++at) {
            client& c = w.connect();
            c.send(call_steps(session, 3, 7));
            for (int i = 0; i < 50 && c.peer().received().size() < at; ++i) {
                w.pass_ms(1);
            }
            const seen_events before =
                read_seen(std::string_view(c.peer().received()).substr(0, at));
            if (!running) {
                w.pass_ms(50);
            }
            c.peer().reset();
            w.settle();
            if (before.empty()) {
                // Nothing to come back with; the call runs on and ends by itself.
                w.pass_ms(50);
                continue;
            }
            client& again = w.connect();
            again.send(come_back(session, before.back().id));
            w.pass_ms(50);
            ++returns;
            ASSERT_TRUE(again.replies().at(0).complete) << at;
            const seen_events all = all_of(before, read_seen(again));
            ASSERT_EQ(messages(all), said) << at << running;
            expect_in_order(all);
            // The network looks at every open connection in every turn: thousands take minutes.
            again.peer().finish();
        }
    }
    EXPECT_GT(returns, whole.size());
    EXPECT_EQ(w.left(), "");
}

// Cut behind every single event, on every connection.
TEST_P(resuming, again_and_again) {
    client* c = &w.connect();
    c->send(call_steps(session, 20, 3));
    seen_events all = read_seen(*c);
    for (int i = 0; i < 100 && !c->replies().at(0).complete; ++i) {
        c->peer().reset();
        w.pass_ms(i % 5);
        c = &w.connect();
        c->send(come_back(session, all.back().id));
        w.pass_ms(i % 4);
        all = all_of(all, read_seen(*c));
    }
    ASSERT_TRUE(c->replies().at(0).complete);
    EXPECT_EQ(messages(all).size(), 21U);
    expect_in_order(all);
    EXPECT_EQ(w.left(), "");
}

// The second of two who came back takes the stream over; the first one ends without the answer.
TEST_P(resuming, the_latest_to_return_gets_the_rest) {
    client& c = w.connect();
    c.send(call_steps(session, 4, 100));
    const seen_events before = read_seen(c);
    c.peer().reset();
    client& early = w.connect();
    client& late = w.connect();
    early.send(come_back(session, before.back().id));
    w.pass_ms(150);
    late.send(come_back(session, before.back().id));
    EXPECT_TRUE(early.replies().at(0).complete);
    w.pass_ms(500);
    EXPECT_TRUE(late.replies().at(0).complete);
    const seen_events all = all_of(before, read_seen(late));
    EXPECT_EQ(messages(all).size(), 5U);
    expect_in_order(all);
    EXPECT_LT(messages(read_seen(early)).size(), 4U);
    EXPECT_EQ(w.left(), "");
}

TEST_P(resuming, an_id_that_names_nothing_is_refused) {
    const std::string other = w.open_session(GetParam());
    client& c = w.connect();
    c.send(call_steps(session, 2, 0));
    const seen_events all = read_seen(c);
    const auto last = event_id::parse(all.back().id);
    ASSERT_TRUE(last);
    const auto named = [](std::uint32_t stream, std::uint64_t sequence) {
        return std::to_string(stream) + "-" + std::to_string(sequence);
    };
    for (const std::string& id :
         {named(last->stream, last->sequence + 1), named(last->stream, ~std::uint64_t{0}),
          named(last->stream + 1, 0), named(0, 0), std::string("nonsense"), std::string("-"),
          all.back().id + "0x", "0" + all.back().id, all.back().id.substr(0, 2),
          std::string(5000, '1')}) {
        EXPECT_EQ(refusal(id), "400 Unknown Last-Event-ID") << id;
    }
    // An id of this session is none of the other's, and the good one is still good.
    const http_reply r = w.connect().ask(come_back(other, all.back().id));
    EXPECT_EQ(r.status, 400);
    client& again = w.connect();
    again.send(come_back(session, all[0].id));
    EXPECT_EQ(all_of({all[0]}, read_seen(again)), all);
    EXPECT_EQ(w.left(), "");
}

// Progress has a message, and can be large, from 2025-03-26 on.
class resuming_much : public resuming {};

// ---- what the log cannot keep ----

TEST_P(resuming_much, too_many_bytes_while_away_are_an_honest_error) {
    client& away = w.connect();
    away.send(
        legacy_call(session, "2", "steps", R"({"count":2,"pause":50})", R"("progressToken":1)"));
    const seen_events before = read_seen(away);
    away.peer().reset();
    w.settle();
    // Other calls of the session push out what the absent one says.
    w.pass_ms(200);
    for (int i = 0; i < 2; ++i) {
        w.connect().send(call_flood(session, 40));
    }
    EXPECT_EQ(refusal(before.back().id), "400 Events behind Last-Event-ID were dropped");
    EXPECT_EQ(w.left(), "");
}

TEST_P(resuming, too_many_events_while_away_are_an_honest_error) {
    client& c = w.connect();
    c.send(call_steps(session, static_cast<int>(limits::session_events_max) + 1, 1));
    const seen_events before = read_seen(c);
    ASSERT_FALSE(before.empty());
    c.peer().reset();
    w.settle();
    // As long as nothing is dropped the client may return.
    client& half = w.connect();
    w.pass_ms(10);
    half.send(come_back(session, before.back().id));
    const seen_events more = read_seen(half);
    half.peer().reset();
    w.pass_ms(3000);
    EXPECT_EQ(refusal(before.back().id), "400 Events behind Last-Event-ID were dropped");
    // Whoever is far enough gets the rest, with the answer.
    client& again = w.connect();
    again.send(come_back(session, more.back().id));
    const seen_events all = all_of(more, read_seen(again));
    EXPECT_TRUE(parsed(all.back().data)["result"].exists());
    expect_in_order(all);
    EXPECT_EQ(w.left(), "");
}

TEST_P(resuming, too_long_an_absence_is_an_honest_error) {
    client& c = w.connect();
    c.send(call_steps(session, 3, 10));
    const seen_events before = read_seen(c);
    client& open = w.connect();
    open.send(legacy_call(session, "2", "steps", R"({"count":2,"pause":1000000})",
                          R"("progressToken":1)"));
    const seen_events early = read_seen(open);
    c.peer().reset();
    open.peer().reset();
    w.pass_ms(event_log::age_max_ms - 60'000);
    EXPECT_EQ(w.connect().ask(come_back(session, before.back().id)).status, 200);
    w.pass_ms(120'000);
    // The call that is over has been forgotten; the one that still runs has said nothing new.
    EXPECT_EQ(refusal(before.back().id), "400 Unknown Last-Event-ID");
    client& again = w.connect();
    again.send(come_back(session, early.back().id));
    EXPECT_FALSE(again.replies().at(0).complete);
    // What it says next is seen, and so is the answer.
    w.pass_ms(2'000'000);
    const seen_events all = all_of(early, read_seen(again));
    EXPECT_EQ(messages(all).size(), 3U);
    expect_in_order(all);
    EXPECT_EQ(w.left(), "");
}

// A handler that says much in one turn of the loop ran so far ahead of who had come back that the
// log dropped what was not sent yet.
TEST_P(resuming, a_handler_does_not_run_ahead_of_who_returned) {
    constexpr int count = 3 * static_cast<int>(limits::session_events_max);
    client& c = w.connect();
    // It waits before it says the rest: the client is back by then.
    c.send(legacy_call(session, "1", "two_bursts", R"({"count":)" + std::to_string(count) + "}",
                       R"("progressToken":"t")"));
    const seen_events before = read_seen(c);
    ASSERT_FALSE(before.empty());
    c.peer().reset();
    client& again = w.connect();
    again.send(come_back(session, before.back().id));
    w.pass_ms(200);
    EXPECT_TRUE(again.replies().at(0).complete);
    const seen_events all = all_of(before, read_seen(again));
    EXPECT_EQ(messages(all).size(), static_cast<std::size_t>(count) + 1);
    expect_in_order(all);
    EXPECT_EQ(w.left(), "");
}

// ---- slow readers ----

// A client that came back and read slowly was ignored: the handler ran ahead, the log overflowed
// and the client was cut.
TEST_P(resuming_much, a_slow_reader_who_returned_holds_the_handler_back) {
    client& c = w.connect();
    c.peer().block(true);
    c.send(call_flood(session, 100));
    const std::size_t said = w.on.record.size();
    EXPECT_LE(said, 10U);
    client& again = w.connect();
    again.peer().block(true);
    again.send(come_back(session, "1-1"));
    c.peer().reset();
    w.pass_ms(1000);
    EXPECT_LE(w.on.record.size(), 40U);
    again.peer().block(false);
    w.settle();
    EXPECT_EQ(w.on.record.size(), 100U);
    EXPECT_TRUE(again.replies().at(0).complete);
    const seen_events all = read_seen(again);
    EXPECT_EQ(all.size(), 100U);
    EXPECT_TRUE(parsed(all.back().data)["result"].exists());
    expect_in_order(all);
    EXPECT_EQ(w.left(), "");
}

// The handler waited for the first connection, which stood still without breaking, and did not
// notice that the client had come back on another one.
TEST_P(resuming_much, a_connection_that_hangs_does_not_hold_up_the_next_one) {
    client& c = w.connect();
    c.peer().block(true);
    c.send(call_flood(session, 30));
    EXPECT_LE(w.on.record.size(), 10U);
    client& again = w.connect();
    again.send(come_back(session, "1-1"));
    EXPECT_EQ(w.on.record.size(), 30U);
    const seen_events all = read_seen(again);
    EXPECT_EQ(all.size(), 30U);
    expect_in_order(all);
    c.peer().block(false);
    EXPECT_EQ(w.left(), "");
}

// The end of the server took a call that had ended for one whose events had all been sent.
TEST_P(resuming_much, a_slow_reader_who_returned_gets_the_rest_at_the_end_of_the_server) {
    constexpr int count = 4;
    client& c = w.connect();
    c.peer().block(true);
    c.send(call_flood(session, count));
    client& again = w.connect();
    again.peer().block(true);
    again.send(come_back(session, "1-1"));
    c.peer().reset();
    w.settle();
    ASSERT_EQ(w.on.record.size(), static_cast<std::size_t>(count));
    ASSERT_EQ(w.engine->live_requests(), 0U);
    w.engine->drain();
    w.settle();
    again.peer().block(false);
    w.settle();
    EXPECT_TRUE(again.replies().at(0).complete);
    const seen_events all = read_seen(again);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(count));
    EXPECT_TRUE(parsed(all.back().data)["result"].exists());
    expect_in_order(all);
}

// A slow one that goes away for good frees the handler.
TEST_P(resuming_much, a_slow_reader_who_leaves_again_frees_the_handler) {
    for (const bool replaced : {false, true}) {
        w.on.record.clear();
        const std::string of = w.open_session(GetParam());
        client& c = w.connect();
        c.peer().block(true);
        c.send(call_flood(of, 20));
        client& again = w.connect();
        again.peer().block(true);
        again.send(come_back(of, "1-1"));
        EXPECT_LT(w.on.record.size(), 20U);
        client& third = w.connect();
        if (replaced) {
            third.send(come_back(of, "1-1"));
        } else {
            again.peer().reset();
        }
        w.settle();
        EXPECT_EQ(w.on.record.size(), 20U) << replaced;
        if (replaced) {
            EXPECT_EQ(read_seen(third).size(), 20U);
        }
        again.peer().block(false);
        c.peer().block(false);
    }
    EXPECT_EQ(w.left(), "");
}

// ---- the streams without a call ----

TEST_P(resuming, of_two_streams_each_change_is_on_exactly_one) {
    std::vector<client*> all{&w.connect()};
    all[0]->send(listen_in(session));
    std::size_t changes = 0;
    for (int round = 0; round < 12; ++round) {
        if (round % 3 == 0) {
            all.push_back(&w.connect());
            all.back()->send(listen_in(session));
        } else if (round % 4 == 1) {
            all.back()->peer().reset();
            w.settle();
        }
        w.host.tools_changed();
        w.host.prompts_changed();
        changes += 2;
        w.settle();
    }
    std::size_t heard = 0;
    std::vector<std::string> ids;
    for (client* c : all) {
        for (const seen_event& e : read_seen(*c)) {
            if (!e.data.empty()) {
                ++heard;
                ids.push_back(e.id);
            }
        }
    }
    EXPECT_EQ(heard, changes);
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

TEST_P(resuming, a_stream_without_a_call_at_every_byte) {
    client* c = &w.connect();
    c->send(listen_in(session));
    for (int i = 0; i < 3; ++i) {
        w.host.resources_changed();
        w.settle();
    }
    const std::string whole = c->peer().received();
    const seen_events said = read_seen(whole);
    for (std::size_t at = 0; at <= whole.size(); ++at) {
        const seen_events before = read_seen(std::string_view(whole).substr(0, at));
        if (before.empty()) {
            continue;
        }
        c->peer().reset();
        w.settle();
        c = &w.connect();
        c->send(come_back(session, before.back().id));
        ASSERT_EQ(all_of(before, read_seen(*c)), said) << at;
    }
    // And it goes on, also with what happened while nobody was there.
    c->peer().reset();
    w.settle();
    w.host.tools_changed();
    w.settle();
    c = &w.connect();
    c->send(come_back(session, said.back().id));
    w.host.prompts_changed();
    w.settle();
    const seen_events all = all_of(said, read_seen(*c));
    EXPECT_EQ(messages(all).size(), 5U);
    expect_in_order(all);
}

TEST_P(resuming, changes_that_were_dropped_are_an_honest_error) {
    client& c = w.connect();
    c.send(listen_in(session));
    w.host.tools_changed();
    w.settle();
    const std::string last = read_seen(c).back().id;
    w.host.tools_changed();
    w.settle();
    c.peer().reset();
    w.settle();
    EXPECT_EQ(w.connect().ask(come_back(session, last)).status, 200);
    for (int i = 0; i < 7; ++i) {
        w.pass_ms(event_log::age_max_ms / 5);
    }
    EXPECT_EQ(refusal(last), "400 Events behind Last-Event-ID were dropped");
}

INSTANTIATE_TEST_SUITE_P(revisions, resuming,
                         ::testing::Values("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"),
                         [](const auto& of) {
                             std::string name(of.param);
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

INSTANTIATE_TEST_SUITE_P(revisions, resuming_much,
                         ::testing::Values("2025-03-26", "2025-06-18", "2025-11-25"),
                         [](const auto& of) {
                             std::string name(of.param);
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// A slow reader of a batch was cut instead of waited for.
TEST(batches_that_stream, a_slow_reader_holds_the_members_back) {
    world w(patient());
    const std::string session = w.open_session("2025-03-26");
    client& c = w.connect();
    c.peer().block(true);
    const std::string member = call_body("1", "flood", R"({"count":100})");
    c.send(legacy_post(session, "[" + member + "]"));
    w.pass_ms(1000);
    EXPECT_LE(w.on.record.size(), 10U);
    c.peer().block(false);
    w.settle();
    EXPECT_EQ(w.on.record.size(), 100U);
    EXPECT_EQ(c.replies().at(0).events.size(), 101U);
    // One that leaves instead keeps nobody.
    w.on.record.clear();
    client& gone = w.connect();
    gone.peer().block(true);
    gone.send(legacy_post(session, "[" + member + "]"));
    EXPECT_LE(w.on.record.size(), 10U);
    gone.peer().reset();
    EXPECT_EQ(w.left(), "");
    EXPECT_EQ(w.on.record.size(), 100U);
}

}  // namespace
}  // namespace pillion::mcp::testing
