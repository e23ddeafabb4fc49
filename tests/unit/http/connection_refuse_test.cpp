// Refusals: by the parser, by admission, by size; what happens to the connection afterwards; and
// the expectation 100-continue.
#include <gtest/gtest.h>

#include "connection_fixture.hpp"

namespace pillion::http::testing {
namespace {

constexpr std::string_view interim = "HTTP/1.1 100 Continue\r\n\r\n";

int first_status(const wire& w) {
    const auto replies = read_replies(w.sent);
    return replies.empty() ? 0 : replies[0].status;
}

TEST(connection_refuse, malformed_heads_get_their_status_close_and_linger) {
    const std::pair<std::string, int> cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        {"GET / HTTP/1.1\r\nHost: x\r\nExpect: dinner\r\nContent-Length: 1\r\n\r\n", 417},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
        {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", 414},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(17'000, 'a') + "\r\n\r\n", 431},
    };
    for (const auto& [bytes, status] : cases) {
        world all;
        wire& w = all.connect();
        for (std::size_t at = 0; at < bytes.size(); at += 4032) {
            w.deliver(std::string_view(bytes).substr(at, 4032));
        }
        all.turns(2);
        auto replies = read_replies(w.sent);
        ASSERT_EQ(replies.size(), 1U) << status;
        EXPECT_EQ(replies[0].status, status);
        EXPECT_EQ(replies[0].headers["connection"], "close");
        EXPECT_EQ(replies[0].headers["x-request-id"].size(), 36U);
        EXPECT_EQ(replies[0].body.substr(0, 3), std::to_string(status));
        EXPECT_TRUE(w.half_closed);
        EXPECT_FALSE(w.closing);
        w.deliver("whatever still comes is thrown away");
        w.eof();
        all.turns(3);
        EXPECT_EQ(w.stream, nullptr);
        EXPECT_EQ(read_replies(w.sent).size(), 1U);
    }
}

TEST(connection_refuse, refusal_without_body_or_with_the_body_there_keeps_the_connection) {
    world all;
    wire& w = all.connect();
    w.deliver("GET /404 HTTP/1.1\r\nHost: x\r\n\r\n");
    w.deliver("POST /404 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    w.deliver(get_a);
    const auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), 3U);
    EXPECT_EQ(replies[0].status, 404);
    EXPECT_EQ(replies[1].status, 404);
    EXPECT_EQ(replies[2].body, "GET /a ");
    EXPECT_FALSE(w.half_closed);
}

TEST(connection_refuse, refusal_with_a_body_to_come_lingers_until_the_peer_ends) {
    for (const std::string_view framing :
         {"Content-Length: 300000", "Transfer-Encoding: chunked"}) {
        world all;
        wire& w = all.connect();
        w.deliver("POST /404 HTTP/1.1\r\nHost: x\r\n" + std::string(framing) + "\r\n\r\n");
        all.turn();
        EXPECT_EQ(first_status(w), 404);
        EXPECT_TRUE(w.half_closed);
        for (int i = 0; i < 75; ++i) {
            w.deliver(std::string(4000, 'b'));
        }
        all.turns(3);
        EXPECT_FALSE(w.closing);
        w.eof();
        all.turns(3);
        EXPECT_EQ(w.stream, nullptr);
        EXPECT_EQ(read_replies(w.sent).size(), 1U);
    }
}

TEST(connection_refuse, lingering_ends_after_two_seconds_or_two_megabytes) {
    world all;
    wire& idle = all.connect();
    wire& busy = all.connect();
    const std::string head = "POST /404 HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n";
    idle.deliver(head);
    busy.deliver(head);
    all.turn();
    for (std::size_t sent = 0; sent <= limits::linger_bytes_max; sent += 4096) {
        EXPECT_FALSE(busy.closing);
        busy.deliver(std::string(4096, 'b'));
    }
    all.turns(3);
    EXPECT_TRUE(busy.closed);
    all.pass_ms(limits::linger_ms - 100);
    EXPECT_FALSE(idle.closing);
    all.pass_ms(200);
    EXPECT_TRUE(idle.closed);
    EXPECT_EQ(idle.stream, nullptr);
}

TEST(connection_refuse, sized_body_over_the_limit_is_refused_before_it_is_read) {
    world all;
    all.handler.body_bytes_max = 10;
    wire& fits = all.connect();
    fits.deliver("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789");
    EXPECT_EQ(first_status(fits), 200);
    wire& over = all.connect();
    over.deliver("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n");
    EXPECT_EQ(first_status(over), 413);
    wire& huge = all.connect();
    huge.deliver("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\nx");
    EXPECT_EQ(first_status(huge), 413);
    all.turn();
    EXPECT_TRUE(huge.half_closed);
}

TEST(connection_refuse, chunked_body_over_the_limit_is_refused_where_it_grows_over) {
    world all;
    all.handler.body_bytes_max = 10;
    const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string fits = head + "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n";
    const std::string over = head + "5\r\n01234\r\n6\r\n567890\r\n0\r\n\r\n";
    for (std::size_t cut = 0; cut <= fits.size(); ++cut) {
        wire& a = all.connect();
        a.deliver(std::string_view(fits).substr(0, cut));
        a.deliver(std::string_view(fits).substr(cut));
        EXPECT_EQ(first_status(a), 200);
        a.reset();
        wire& b = all.connect();
        b.deliver(std::string_view(over).substr(0, cut));
        b.deliver(std::string_view(over).substr(cut));
        EXPECT_EQ(first_status(b), 413);
        all.turn();
        EXPECT_TRUE(b.half_closed);
        b.reset();
    }
}

TEST(connection_refuse, malformed_chunk_is_400) {
    world all;
    wire& w = all.connect();
    w.deliver("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    EXPECT_EQ(first_status(w), 400);
}

TEST(connection_refuse, expectation_is_met_once_the_head_is_admitted) {
    world all;
    wire& w = all.connect();
    w.deliver("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(w.sent, interim);
    w.deliver("abc");
    const auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), 2U);
    EXPECT_EQ(replies[1].body, "POST /a abc");
}

TEST(connection_refuse, expectation_is_skipped_when_the_body_or_part_of_it_is_there) {
    for (const std::string_view part : {"abc", "a"}) {
        world all;
        wire& w = all.connect();
        w.deliver(
            "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
            "Expect: 100-continue\r\n\r\n" +
            std::string(part));
        w.deliver(std::string("abc").substr(part.size()));
        const auto replies = read_replies(w.sent);
        ASSERT_EQ(replies.size(), 1U);
        EXPECT_EQ(replies[0].body, "POST /a abc");
    }
}

TEST(connection_refuse, expectation_cut_at_every_byte_of_the_head_is_met_once) {
    const std::string head =
        "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
    for (std::size_t cut = 0; cut <= head.size(); ++cut) {
        world all;
        wire& w = all.connect();
        w.deliver(std::string_view(head).substr(0, cut));
        w.deliver(std::string_view(head).substr(cut));
        ASSERT_EQ(w.sent, interim) << cut;
        w.deliver("1\r\nx\r\n0\r\n\r\n");
        EXPECT_EQ(read_replies(w.sent).at(1).body, "POST /a x");
    }
}

TEST(connection_refuse, refused_expectation_gets_the_status_instead_and_the_end) {
    const std::pair<std::string_view, int> cases[] = {{"/404", 404}, {"/big", 413}};
    for (const auto& [path, status] : cases) {
        world all;
        all.handler.body_bytes_max = 2;
        wire& w = all.connect();
        w.deliver("POST " + std::string(path) +
                  " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
        all.turn();
        const auto replies = read_replies(w.sent);
        ASSERT_EQ(replies.size(), 1U);
        EXPECT_EQ(replies[0].status, status);
        EXPECT_TRUE(w.half_closed);
    }
}

TEST(connection_refuse, expectation_in_http_1_0_or_without_a_body_is_ignored) {
    world all;
    wire& old = all.connect();
    old.deliver("POST /a HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(old.sent, "");
    wire& bare = all.connect();
    bare.deliver("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(first_status(bare), 200);
    wire& zero = all.connect();
    zero.deliver(
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(first_status(zero), 200);
}

TEST(connection_refuse, length_required_is_left_to_admission) {
    world all;
    all.handler.refuse_all = 411;
    wire& w = all.connect();
    w.deliver("POST / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(first_status(w), 411);
    all.turns(2);
    EXPECT_FALSE(w.half_closed);
}

}  // namespace
}  // namespace pillion::http::testing
