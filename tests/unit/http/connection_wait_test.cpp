// Requests whose admission waits for something: nothing of them is lost, and nobody waits for ever.
#include <gtest/gtest.h>

#include "connection_fixture.hpp"

namespace pillion::http::testing {
namespace {

const std::string post_two =
    "POST /two HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world";
const std::string chunked_post =
    "POST /three HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    "4;e=1\r\nabcd\r\n1\r\ne\r\n0\r\n\r\n";

TEST(connection_wait, what_came_before_and_after_the_decision_is_read_at_every_cut) {
    const std::string bytes = post_two + chunked_post + "GET /one HTTP/1.1\r\nHost: x\r\n\r\n";
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        world all;
        wire& w = all.connect();
        all.handler.undecided = true;
        w.deliver(std::string_view(bytes).substr(0, cut));
        all.turns(2);
        EXPECT_TRUE(w.sent.empty());
        all.handler.decide();
        all.turns(2);
        w.deliver(std::string_view(bytes).substr(cut));
        all.turns(2);
        const auto replies = read_replies(w.sent);
        ASSERT_EQ(replies.size(), 3U) << cut;
        EXPECT_EQ(replies[0].body, "POST /two hello world");
        EXPECT_EQ(replies[1].body, "POST /three abcde");
        EXPECT_EQ(replies[2].body, "GET /one ");
    }
}

TEST(connection_wait, the_head_stays_while_other_connections_read_theirs) {
    world all;
    wire& first = all.connect();
    wire& second = all.connect();
    all.handler.undecided = true;
    first.deliver("GET /one HTTP/1.1\r\nHost: x\r\nTraceparent: first\r\n\r\n");
    all.handler.undecided = false;
    for (int i = 0; i < 20; ++i) {
        second.deliver("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: other\r\n\r\n");
    }
    all.handler.decide();
    all.turns(2);
    EXPECT_EQ(read_replies(first.sent).at(0).body, "GET /one ");
    EXPECT_EQ(all.handler.trace, "first");
}

TEST(connection_wait, a_refusal_reads_no_body) {
    world all;
    wire& w = all.connect();
    all.handler.undecided = true;
    w.deliver("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\nabc");
    all.handler.refuse_all = 403;
    all.handler.decide();
    all.turns(2);
    EXPECT_EQ(read_replies(w.sent).at(0).status, 403);
    EXPECT_TRUE(all.handler.handled.empty());
}

TEST(connection_wait, it_may_wait_again_and_is_asked_only_when_told) {
    world all;
    wire& w = all.connect();
    all.handler.undecided = true;
    w.deliver(post_two);
    for (int round = 2; round < 5; ++round) {
        all.turns(3);
        const auto asked = std::exchange(all.handler.asked, {});
        ASSERT_EQ(asked.size(), 1U);
        asked[0]->admit_again();
        asked[0]->admit_again();
        all.turns(3);
        EXPECT_EQ(all.handler.admissions, round);
    }
    all.handler.decide();
    all.turns(2);
    EXPECT_EQ(read_replies(w.sent).at(0).body, "POST /two hello world");
}

TEST(connection_wait, no_time_limit_of_heads_or_idle_connections_ends_it) {
    server_limits limits = unhurried();
    limits.head_timeout_ms = limits.idle_timeout_ms = 50;
    world all(limits);
    wire& w = all.connect();
    all.handler.undecided = true;
    w.deliver(post_two);
    all.hold_up_ms(60'000);
    all.turns(3);
    EXPECT_FALSE(w.closing);
    all.handler.decide();
    all.turns(2);
    EXPECT_EQ(read_replies(w.sent).at(0).body, "POST /two hello world");
}

TEST(connection_wait, who_floods_meanwhile_is_not_read) {
    world all;
    wire& w = all.connect();
    all.handler.undecided = true;
    w.deliver("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n");
    for (int i = 0; i < 20; ++i) {
        w.deliver(std::string(4096, 'x'));
    }
    all.turns(2);
    EXPECT_TRUE(w.paused);
    all.handler.decide();
    all.turns(2);
    w.deliver(std::string(500'000 - 20 * 4096, 'x'));
    all.turns(2);
    EXPECT_EQ(read_replies(w.sent).at(0).body.size(), std::string("POST / ").size() + 500'000);
}

TEST(connection_wait, a_half_close_is_no_withdrawal) {
    world all;
    wire& w = all.connect();
    all.handler.undecided = true;
    w.deliver(post_two);
    w.eof();
    all.turns(3);
    all.handler.decide();
    all.turns(3);
    EXPECT_EQ(read_replies(w.sent).at(0).body, "POST /two hello world");
}

TEST(connection_wait, a_reset_ends_it) {
    world all;
    wire& w = all.connect();
    all.handler.undecided = true;
    w.deliver(post_two);
    w.reset();
    // The decision crosses the end: nobody is asked any more.
    all.handler.decide();
    all.turns(4);
    EXPECT_EQ(w.stream, nullptr);
    EXPECT_EQ(all.handler.admissions, 1);
}

TEST(connection_wait, it_is_answered_in_a_drain) {
    world all;
    wire& w = all.connect();
    all.handler.undecided = true;
    w.deliver(post_two);
    all.server_.drain();
    all.turns(3);
    EXPECT_FALSE(w.closing);
    all.handler.decide();
    all.turns(3);
    const auto answer = read_replies(w.sent).at(0);
    EXPECT_EQ(answer.body, "POST /two hello world");
    EXPECT_EQ(answer.headers.at("connection"), "close");
}

}  // namespace
}  // namespace pillion::http::testing
