// The server: its cap, draining, closing everything.
#include <gtest/gtest.h>

#include "connection_fixture.hpp"

namespace pillion::http::testing {
namespace {

TEST(server_drain, connection_over_the_cap_is_told_503) {
    server_limits limits;
    limits.connections_max = 2;
    world all(limits);
    wire& one = all.connect();
    all.connect();
    wire& three = all.connect();
    EXPECT_EQ(all.server_.connections(), 2U);
    EXPECT_EQ(all.handler.open, 2);
    three.deliver(get_a);
    all.turns(2);
    auto replies = read_replies(three.sent);
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(replies[0].status, 503);
    EXPECT_EQ(replies[0].headers["connection"], "close");
    EXPECT_TRUE(three.half_closed);
    three.eof();
    one.eof();
    all.turns(3);
    EXPECT_EQ(three.stream, nullptr);
    EXPECT_EQ(all.server_.connections(), 1U);
    wire& four = all.connect();
    four.deliver(get_a);
    EXPECT_EQ(read_replies(four.sent).at(0).status, 200);
}

TEST(server_drain, rejections_are_bounded_too) {
    server_limits limits;
    limits.connections_max = 0;
    world all(limits);
    int told = 0;
    for (int i = 0; i < 1000; ++i) {
        told += all.connect().closing ? 0 : 1;
    }
    EXPECT_EQ(told, 128);
    EXPECT_FALSE(all.server_.idle());
    EXPECT_EQ(all.server_.connections(), 0U);
}

TEST(server_drain, idle_connections_close_when_quiet_busy_ones_after_their_answer) {
    world all;
    all.handler.later = true;
    wire& fresh = all.connect();
    wire& busy = all.connect();
    wire& in_head = all.connect();
    wire& in_body = all.connect();
    busy.deliver(std::string(get_a) + std::string(get_a));
    exchange* first = std::exchange(all.handler.pending, nullptr);
    all.handler.later = false;
    in_head.deliver(get_a.substr(0, 10));
    in_body.deliver("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na");
    all.server_.drain();
    EXPECT_TRUE(all.server_.draining());
    all.turns(3);
    EXPECT_FALSE(fresh.closing);
    all.pass_ms(limits::drain_quiet_ms + 2);
    EXPECT_TRUE(fresh.closed);
    EXPECT_FALSE(busy.closing || in_head.closing || in_body.closing);
    in_head.deliver(get_a.substr(10));
    in_body.deliver("b");
    test_handler::reply(*first, "late");
    all.turns(3);
    for (wire* w : {&busy, &in_head, &in_body}) {
        auto replies = read_replies(w->sent);
        // What was pipelined and read before is answered, too.
        ASSERT_EQ(replies.size(), w == &busy ? 2U : 1U);
        EXPECT_EQ(replies.back().status, 200);
        EXPECT_EQ(replies.back().headers["connection"], "close");
        EXPECT_EQ(replies.front().headers.contains("connection"), w != &busy);
        EXPECT_TRUE(w->half_closed);
        w->eof();
    }
    all.turns(3);
    EXPECT_TRUE(all.server_.idle());
}

// A client in the middle of its work had its next request reset.
TEST(server_drain, requests_that_were_on_their_way_are_answered) {
    world all;
    wire& long_idle = all.connect();
    all.pass_ms(limits::drain_idle_ms + 2);
    wire& active = all.connect();
    wire& in_the_system = all.connect();
    wire& fresh = all.connect();
    active.deliver(get_a);
    in_the_system.deliver(get_a);
    in_the_system.unread = true;
    all.server_.drain();
    wire& late = all.connect();
    all.turns(3);
    all.pass_ms(2);
    EXPECT_TRUE(long_idle.closed);
    all.pass_ms(limits::drain_quiet_ms - 10);
    EXPECT_FALSE(active.closing || fresh.closing || late.closing);
    for (wire* w : {&active, &fresh, &late}) {
        w->deliver(get_a);
    }
    all.pass_ms(3 * limits::drain_quiet_ms);
    EXPECT_FALSE(in_the_system.closing);
    in_the_system.deliver(get_a);
    in_the_system.unread = false;
    all.turns(3);
    for (wire* w : {&active, &in_the_system, &fresh, &late}) {
        auto replies = read_replies(w->sent);
        ASSERT_EQ(replies.size(), w == &fresh || w == &late ? 1U : 2U);
        EXPECT_EQ(replies.back().status, 200);
        EXPECT_EQ(replies.back().headers["connection"], "close");
        w->eof();
    }
    all.turns(3);
    EXPECT_TRUE(all.server_.idle());
}

// What was sent to a deaf listener is repeated after 200 ms: the connection was closed by then.
TEST(server_drain, who_comes_late_may_have_to_send_again) {
    world all;
    wire& fresh = all.connect();
    all.server_.drain();
    wire& late = all.connect();
    wire& silent = all.connect();
    all.turns(3);
    all.pass_ms(250);
    EXPECT_TRUE(fresh.closed);
    EXPECT_FALSE(late.closing || silent.closing);
    late.deliver(get_a);
    all.turns(3);
    EXPECT_EQ(read_replies(late.sent).at(0).headers["connection"], "close");
    late.eof();
    all.pass_ms(limits::drain_late_quiet_ms - 250 + 2);
    EXPECT_TRUE(silent.closed);
    EXPECT_TRUE(all.server_.idle());
}

// Quiet was counted from the begin of a turn: where the thread had been held up in it, whoever had
// just been answered, or had just come, met a closed connection.
TEST(server_drain, quiet_is_counted_from_where_a_held_up_thread_went_on) {
    for (const bool drains_first : {false, true}) {
        world all;
        wire& answered = all.connect();
        answered.deliver(get_a);
        if (drains_first) {
            all.server_.drain();
            all.turns(1);
        }
        all.hold_up_ms(limits::drain_quiet_ms + 50);
        wire& came = all.connect();
        if (!drains_first) {
            all.server_.drain();
        }
        all.turns(5);
        ASSERT_FALSE(came.closing);
        came.deliver(get_a);
        EXPECT_EQ(read_replies(came.sent).back().status, 200);
        came.eof();
        if (!drains_first) {
            ASSERT_FALSE(answered.closing);
            answered.deliver(get_a);
            EXPECT_EQ(read_replies(answered.sent).size(), 2U);
            answered.eof();
        }
        all.turns(3);
        EXPECT_TRUE(all.server_.idle());
    }
}

// Refused requests kept a connection open, as their own body counted as the next request.
TEST(server_drain, a_refusal_is_the_last_answer_as_well) {
    world all;
    wire& w = all.connect();
    all.server_.drain();
    w.deliver("POST /404 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab");
    all.turns(3);
    auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(replies[0].status, 404);
    EXPECT_EQ(replies[0].headers["connection"], "close");
    EXPECT_TRUE(w.half_closed);
    w.eof();
    all.turns(3);
    EXPECT_TRUE(all.server_.idle());
}

TEST(server_drain, a_head_that_began_has_a_second) {
    world all;
    wire& w = all.connect();
    all.server_.drain();
    w.deliver(get_a.substr(0, 10));
    all.pass_ms(limits::drain_head_ms - 10);
    EXPECT_TRUE(w.sent.empty());
    all.pass_ms(20);
    EXPECT_EQ(read_replies(w.sent).at(0).status, 408);
    w.eof();
    all.turns(3);
    EXPECT_TRUE(all.server_.idle());
}

TEST(server_drain, answered_just_before_it_still_closes) {
    world all;
    all.handler.later = true;
    wire& w = all.connect();
    w.deliver(get_a);
    all.handler.answer();  // queued without "Connection: close"…
    all.server_.drain();   // …and the coroutine has not run yet
    all.pass_ms(limits::drain_quiet_ms + 2);
    EXPECT_TRUE(w.closed);
    EXPECT_EQ(read_replies(w.sent).size(), 1U);
}

TEST(server_drain, stream_is_left_to_its_owner_and_closes_at_its_end) {
    world all;
    all.handler.later = true;
    wire& w = all.connect();
    w.deliver(get_a);
    all.handler.pending->begin_sse();
    all.server_.drain();
    all.pass_ms(100'000);
    EXPECT_FALSE(w.closing);
    std::exchange(all.handler.pending, nullptr)->end_sse();
    all.pass_ms(limits::drain_quiet_ms + 2);
    EXPECT_TRUE(w.closed);
    EXPECT_TRUE(read_replies(w.sent).at(0).complete);
}

TEST(server_drain, close_all_tells_listeners_and_leaves_nothing) {
    for (const bool at_once : {false, true}) {
        world all;
        all.handler.later = true;
        for (int i = 0; i < 4; ++i) {
            all.connect().close_at_once = at_once;
        }
        wire& busy = all.connect();
        busy.close_at_once = at_once;
        busy.deliver(get_a);
        wire& in_body = all.connect();
        in_body.deliver("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na");
        wire& lingers = all.connect();
        lingers.deliver("bad\r\n\r\n");
        all.turn();
        all.server_.close_all();
        EXPECT_EQ(all.handler.gones, 0);
        all.turns(3);
        EXPECT_EQ(all.handler.gones, 1);
        EXPECT_TRUE(all.server_.idle());
    }
}

}  // namespace
}  // namespace pillion::http::testing
