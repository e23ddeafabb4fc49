// Timeouts, in virtual time: slow heads, slow bodies, idleness, peers that do not read.
#include <gtest/gtest.h>

#include "connection_fixture.hpp"

namespace pillion::http::testing {
namespace {

TEST(connection_time, head_has_its_time_from_the_first_byte_however_it_drips) {
    world all;
    wire& w = all.connect();
    all.pass_ms(20'000);
    const std::string_view head = get_a;
    for (std::size_t i = 0; i < 9; ++i) {
        w.deliver(head.substr(i, 1));
        all.pass_ms(1'000);
    }
    EXPECT_EQ(w.sent, "");
    all.pass_ms(990);
    EXPECT_EQ(w.sent, "");
    all.pass_ms(20);
    const auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(replies[0].status, 408);
    EXPECT_TRUE(w.half_closed);
    all.pass_ms(limits::linger_ms + 10);
    EXPECT_EQ(w.stream, nullptr);
}

TEST(connection_time, every_head_has_its_own_time) {
    world all;
    wire& w = all.connect();
    for (int i = 0; i < 5; ++i) {
        w.deliver(get_a.substr(0, 10));
        all.pass_ms(9'000);
        w.deliver(get_a.substr(10));
        all.pass_ms(9'000);
    }
    EXPECT_EQ(read_replies(w.sent).size(), 5U);
    EXPECT_FALSE(w.closing);
}

TEST(connection_time, next_head_that_begins_with_the_last_packet_is_timed_as_well) {
    world all;
    wire& w = all.connect();
    w.deliver(std::string(get_a) + "GET");
    all.pass_ms(limits::head_timeout_ms + 10);
    EXPECT_EQ(read_replies(w.sent).at(1).status, 408);
}

TEST(connection_time, line_end_behind_a_request_leaves_the_connection_idle) {
    for (const std::string_view rest : {"\r", "\r\n"}) {
        world all;
        wire& w = all.connect();
        w.deliver(std::string(get_a) + std::string(rest));
        all.pass_ms(limits::idle_timeout_ms - 10);
        EXPECT_FALSE(w.closing);
        all.pass_ms(20);
        EXPECT_TRUE(w.closed);
        EXPECT_EQ(read_replies(w.sent).size(), 1U);
        wire& drained = all.connect();
        drained.deliver(std::string(get_a) + std::string(rest));
        all.server_.drain();
        all.pass_ms(limits::drain_quiet_ms + 2);
        EXPECT_TRUE(drained.closed);
    }
}

TEST(connection_time, refused_request_does_not_lend_its_time_to_the_next) {
    world all;
    wire& w = all.connect();
    w.deliver("GET /404 HTTP");
    all.pass_ms(9'000);
    w.deliver("/1.1\r\nHost: x\r\n\r\nGET");
    all.pass_ms(9'000);
    EXPECT_EQ(read_replies(w.sent).size(), 1U);
    all.pass_ms(1'010);
    EXPECT_EQ(read_replies(w.sent).size(), 2U);
}

TEST(connection_time, slow_body_is_408_with_the_request_id_of_its_head) {
    for (const std::string_view framing : {"Content-Length: 90", "Transfer-Encoding: chunked"}) {
        world all;
        wire& w = all.connect();
        w.deliver("POST /b HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow\r\n" + std::string(framing) +
                  "\r\n\r\n");
        w.deliver("5\r\n");
        all.pass_ms(29'990);
        w.deliver("a");
        EXPECT_EQ(w.sent, "");
        all.pass_ms(20);
        auto replies = read_replies(w.sent);
        ASSERT_EQ(replies.size(), 1U);
        EXPECT_EQ(replies[0].status, 408);
        EXPECT_EQ(replies[0].headers["x-request-id"], "slow");
        EXPECT_EQ(replies[0].headers["connection"], "close");
    }
}

TEST(connection_time, idle_connection_is_closed_without_a_word) {
    world all;
    wire& fresh = all.connect();
    wire& used = all.connect();
    all.pass_ms(10'000);
    used.deliver(get_a);
    all.pass_ms(limits::idle_timeout_ms - 10'010);
    EXPECT_FALSE(fresh.closing);
    all.pass_ms(20);
    EXPECT_TRUE(fresh.closed);
    EXPECT_EQ(fresh.sent, "");
    EXPECT_FALSE(used.closing);
    all.pass_ms(10'000);
    EXPECT_TRUE(used.closed);
    EXPECT_FALSE(used.half_closed);
    EXPECT_EQ(read_replies(used.sent).size(), 1U);
}

TEST(connection_time, open_exchange_has_no_timeout_and_the_next_wait_a_full_one) {
    world all;
    all.handler.later = true;
    wire& w = all.connect();
    w.deliver(get_a);
    all.pass_ms(1'000'000);
    all.handler.answer();
    all.pass_ms(limits::idle_timeout_ms - 10);
    EXPECT_FALSE(w.closing);
    EXPECT_EQ(read_replies(w.sent).size(), 1U);
    all.pass_ms(20);
    EXPECT_TRUE(w.closed);
}

// Found by the simulation: time jumped while no receive buffer was free, and the timer of idleness
// came before the request that the system held already.
TEST(connection_time, a_request_that_the_system_holds_is_no_idleness) {
    world all;
    wire& w = all.connect();
    w.deliver("GET /one HTTP/1.1\r\nHost: x\r\n\r\n");
    w.unread = true;
    all.pass_ms(limits::idle_timeout_ms + 1'000);
    EXPECT_FALSE(w.closing);
    w.unread = false;
    w.deliver("GET /two HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(read_replies(w.sent).size(), 2U);
    all.pass_ms(limits::idle_timeout_ms + 1'000);
    EXPECT_TRUE(w.closed);
}

TEST(connection_time, request_that_races_with_the_idle_timeout_is_answered) {
    server_limits limits;
    limits.idle_timeout_ms = 100;
    world all(limits);
    wire& w = all.connect();
    // One turn in which the timer fires and, before the coroutine runs, the data comes.
    all.loop.run_one(100'000'000);
    all.loop.run_one(2'000'000);
    w.deliver(get_a);
    all.turns(2);
    EXPECT_EQ(read_replies(w.sent).size(), 1U);
    EXPECT_FALSE(w.closing);
}

TEST(connection_time, peer_that_reads_slowly_is_waited_for_and_one_that_stopped_is_cut) {
    world all;
    wire& slow = all.connect();
    wire& dead = all.connect();
    slow.hold = dead.hold = true;
    slow.deliver(get_a);
    dead.deliver(get_a);
    for (int i = 0; i < 5; ++i) {
        all.pass_ms(limits::idle_timeout_ms - 1'000);
        slow.read_some(1);
    }
    EXPECT_FALSE(slow.closed);
    EXPECT_TRUE(dead.closed);
    slow.read_some(1'000'000);
    all.pass_ms(2 * limits::idle_timeout_ms);
    EXPECT_TRUE(slow.closed);
    EXPECT_EQ(read_replies(slow.sent).size(), 1U);
}

TEST(connection_time, closing_waits_for_a_reader_that_makes_progress_only) {
    world all;
    wire& slow = all.connect();
    wire& dead = all.connect();
    slow.hold = dead.hold = true;
    const std::string_view last = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    slow.deliver(last);
    dead.deliver(last);
    for (int i = 0; i < 5; ++i) {
        all.pass_ms(limits::head_timeout_ms - 1'000);
        slow.read_some(1);
    }
    EXPECT_FALSE(slow.closed);
    EXPECT_TRUE(dead.closed);
    EXPECT_EQ(dead.stream, nullptr);
    slow.read_some(1'000'000);
    all.turns(3);
    EXPECT_TRUE(slow.closed);
}

// A large answer to a peer that sends nothing more and does not read was kept for the idle time.
TEST(connection_time, half_closed_peer_has_the_time_of_a_last_answer_however_large_that_is) {
    const std::string body(limits::out_queue_bytes_high + 1, 'x');
    const std::string post =
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    world all;
    wire& slow = all.connect();
    wire& dead = all.connect();
    wire& more = all.connect();
    for (wire* w : {&slow, &dead, &more}) {
        w->hold = true;
        w->deliver(post);
        all.turns(2);
        if (w == &more) {
            w->deliver(get_a);  // has its turn only when the first answer is read
        }
        w->eof();
    }
    for (int i = 0; i < 3; ++i) {
        all.pass_ms(limits::head_timeout_ms - 1'000);
        slow.read_some(1);
    }
    EXPECT_FALSE(slow.closed);
    EXPECT_TRUE(dead.closed);
    EXPECT_EQ(dead.stream, nullptr);
    EXPECT_FALSE(more.closed);
    for (wire* w : {&slow, &more}) {
        w->read_some(1'000'000);
        all.turns(3);
        w->read_some(1'000'000);
        EXPECT_TRUE(w->closed);
    }
    EXPECT_EQ(read_replies(slow.sent).size(), 1U);
    EXPECT_EQ(read_replies(more.sent).size(), 2U);
}

TEST(connection_time, lingering_peer_that_never_read_its_refusal_is_cut) {
    world all;
    wire& w = all.connect();
    w.hold = true;
    w.deliver("nonsense\r\n\r\n");
    all.pass_ms(limits::linger_ms + 10);
    EXPECT_TRUE(w.closed);
    EXPECT_EQ(w.sent, "");
}

}  // namespace
}  // namespace pillion::http::testing
