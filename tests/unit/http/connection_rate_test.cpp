// Slow senders and readers that do not read, in virtual time: the timeouts alone would let them
// hold their connection for long.
#include <gtest/gtest.h>

#include "connection_fixture.hpp"

namespace pillion::http::testing {
namespace {

server_limits rated(std::int64_t head, std::int64_t body) {
    server_limits made;
    made.head_rate_min = head;
    made.body_rate_min = body;
    return made;
}

TEST(connection_rate, a_head_that_drips_is_cut_long_before_its_timeout) {
    world all(rated(100, 0));
    wire& w = all.connect();
    const std::string head = "GET /a HTTP/1.1\r\nHost: x\r\nX-Pad: " + std::string(500, 'x');
    int at = 0;
    for (; w.sent.empty() && at < 100; ++at) {
        w.deliver(head.substr(static_cast<std::size_t>(at), 1));
        all.pass_ms(100);
    }
    EXPECT_GE(at, limits::slow_grace_ms / 100);
    EXPECT_LE(at, (limits::slow_grace_ms + limits::slow_apart_ms) / 100 + 2);
    EXPECT_EQ(read_replies(w.sent).at(0).status, 408);
    EXPECT_EQ(all.server_.counts().slow_senders, 1U);
}

TEST(connection_rate, a_head_that_comes_fast_enough_has_its_whole_timeout) {
    world all(rated(100, 0));
    wire& w = all.connect();
    const std::string head = "GET /a HTTP/1.1\r\nHost: x\r\nX-Pad: " + std::string(5000, 'x');
    std::size_t at = 0;
    for (; w.sent.empty() && at < head.size(); at += 15) {
        w.deliver(head.substr(at, 15));
        all.pass_ms(100);
    }
    EXPECT_GE(at / 15, static_cast<std::size_t>(limits::head_timeout_ms / 100));
    EXPECT_LE(at / 15, static_cast<std::size_t>(limits::head_timeout_ms / 100 + 2));
    EXPECT_EQ(read_replies(w.sent).at(0).status, 408);
    EXPECT_EQ(all.server_.counts().slow_senders, 0U) << "the timeout is no matter of speed";
}

TEST(connection_rate, a_stall_of_seconds_in_a_head_is_forgiven) {
    world all(rated(100, 1000));
    wire& w = all.connect();
    w.deliver("GET /a HTTP/1.1\r\nHo");
    all.pass_ms(limits::slow_grace_ms - 100);
    w.deliver("st: x\r\n\r\n");
    EXPECT_EQ(read_replies(w.sent).at(0).status, 200);
    all.pass_ms(20'000);
    w.deliver("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(read_replies(w.sent).at(1).status, 200);
}

TEST(connection_rate, a_body_that_drips_is_cut) {
    for (const bool chunked : {false, true}) {
        world all(rated(0, 1000));
        wire& w = all.connect();
        w.deliver(std::string("POST /b HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow\r\n") +
                  (chunked ? "Transfer-Encoding: chunked" : "Content-Length: 100000") + "\r\n\r\n");
        int seconds = 0;
        for (; w.sent.empty() && seconds < 30; ++seconds) {
            // Half of what it should be.
            const std::string some(500, 'b');
            w.deliver(chunked ? "1f4\r\n" + some + "\r\n" : some);
            all.pass_ms(1000);
        }
        // 500 a second against 1000 for each second behind the grace.
        EXPECT_GE(seconds, 8);
        EXPECT_LE(seconds, 11);
        EXPECT_EQ(read_replies(w.sent).at(0).status, 408);
        EXPECT_EQ(read_replies(w.sent).at(0).headers["x-request-id"], "slow");
        EXPECT_EQ(all.server_.counts().slow_senders, 1U);
    }
}

TEST(connection_rate, a_body_that_comes_fast_enough_is_taken) {
    world all(rated(0, 1000));
    wire& w = all.connect();
    w.deliver("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n");
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(w.sent, "");
        w.deliver(std::string(1000, 'b'));
        all.pass_ms(1000);
    }
    EXPECT_EQ(read_replies(w.sent).at(0).status, 200);
}

// A shutdown gives a half-received head its moment and no more, whatever its rate.
TEST(connection_rate, a_shutdown_does_not_wait_for_a_fast_head) {
    world all(rated(1, 1));
    wire& w = all.connect();
    w.deliver("GET /a HTTP/1.1\r\nHost: x\r\nX-Pad: " + std::string(500, 'x'));
    all.server_.drain();
    all.pass_ms(limits::drain_head_ms + 10);
    EXPECT_EQ(read_replies(w.sent).at(0).status, 408);
}

TEST(connection_rate, a_stream_of_which_nothing_is_read_is_cut) {
    server_limits limits;
    limits.sse_keepalive_ms = 1000;
    limits.reader_stall_ms = 5000;
    world all(limits);
    all.handler.later = true;
    wire& w = all.connect();
    wire& reads = all.connect();
    w.deliver("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    exchange* stalled = std::exchange(all.handler.pending, nullptr);
    reads.deliver("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    exchange* read = all.handler.pending;
    const auto say = [&](exchange& to) {
        base::byte_buffer data(all.loop.chunks(), exchange::head_gap);
        data.append("{}");
        to.send_event(std::move(data));
    };
    stalled->begin_sse();
    read->begin_sse();
    w.hold = reads.hold = true;
    say(*stalled);
    say(*read);
    for (int i = 0; i < 8; ++i) {
        EXPECT_FALSE(reads.closing);
        all.pass_ms(1000);
        reads.read_some(1);
    }
    EXPECT_TRUE(w.closing);
    EXPECT_FALSE(reads.closing) << "slow is not stalled";
    EXPECT_EQ(all.server_.counts().slow_readers, 1U);
    EXPECT_EQ(all.handler.gones, 1);
    reads.hold = false;
    all.handler.pending = nullptr;
    read->end_sse();
    all.turns(3);
}

TEST(connection_rate, a_connection_that_nobody_wants_is_told_so_and_closed) {
    world all;
    wire& first = all.connect();
    all.handler.unwelcome = 429;
    wire& w = all.connect();
    w.deliver("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    all.turns(3);
    EXPECT_EQ(read_replies(w.sent).at(0).status, 429);
    EXPECT_TRUE(w.half_closed);
    EXPECT_EQ(all.server_.connections(), 1U);
    EXPECT_EQ(all.server_.counts().unwanted, 1U);
    first.deliver("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(read_replies(first.sent).at(0).status, 200);
    w.eof();
    all.turns(3);
    EXPECT_EQ(w.stream, nullptr);
}

}  // namespace
}  // namespace pillion::http::testing
