// The same bytes in every partition: the answers must not depend on packets. Pipelining, handlers
// that answer later, and an end at every byte.
#include <gtest/gtest.h>

#include "connection_fixture.hpp"

namespace pillion::http::testing {
namespace {

const std::vector<std::string>& requests() {
    static const std::vector<std::string> all = {
        "GET /one HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /two HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world",
        "POST /three HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "4;e=1\r\nabcd\r\n1\r\ne\r\n0\r\nX: y\r\n\r\n",
        "\r\nGET /404 HTTP/1.1\r\nHost: x\r\nX-Request-Id: r4\r\n\r\n",
        "POST /five HTTP/1.1\r\nHOST: x\r\nContent-Length: 0\r\n\r\n",
    };
    return all;
}

const std::vector<std::string>& answers() {
    static const std::vector<std::string> all = {
        "GET /one ", "POST /two hello world", "POST /three abcde", "404 ", "POST /five ",
    };
    return all;
}

std::string first(std::size_t count) {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) {
        bytes += requests()[i];
    }
    return bytes;
}

void expect_answers(const std::string& sent, std::size_t count, const std::string& what) {
    const auto replies = read_replies(sent);
    ASSERT_EQ(replies.size(), count) << what;
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(replies[i].body, answers()[i]) << what;
        ASSERT_EQ(replies[i].headers.count("connection"), 0U) << what;
    }
}

TEST(connection_split, one_to_five_requests_cut_at_every_byte) {
    for (std::size_t count = 1; count <= requests().size(); ++count) {
        const std::string bytes = first(count);
        for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
            world all;
            wire& w = all.connect();
            w.deliver(std::string_view(bytes).substr(0, cut));
            w.deliver(std::string_view(bytes).substr(cut));
            expect_answers(w.sent, count, "cut at " + std::to_string(cut));
        }
    }
}

// Connections share the head they read; while a body is awaited, each keeps its own.
TEST(connection_split, a_head_outlives_the_heads_of_other_connections) {
    world all;
    wire& slow = all.connect();
    slow.deliver(
        "POST /two HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nContent-Length: 11\r\n\r\nhel");
    for (int i = 0; i < 3; ++i) {
        wire& other = all.connect();
        other.deliver(requests()[2]);
        EXPECT_EQ(read_replies(other.sent).at(0).body, answers()[2]);
        wire& waits = all.connect();
        waits.deliver("POST /other HTTP/1.1\r\nHost: y\r\nContent-Length: 3\r\n\r\na");
    }
    slow.deliver("lo world");
    const auto replies = read_replies(slow.sent);
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(replies[0].body, answers()[1]);
    EXPECT_EQ(replies[0].headers.at("x-request-id"), "mine");
}

// The same for a head that was known from another connection: its bytes lie in the memo then.
TEST(connection_split, a_known_head_outlives_the_same_head_of_other_connections) {
    const auto head = [](std::string_view trace, std::string_view id, int length) {
        return "POST /t HTTP/1.1\r\nHost: x\r\ntraceparent: " + std::string(trace) +
               "\r\nX-Request-Id: " + std::string(id) +
               "\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
    };
    world all;
    all.connect().deliver(head("aaa", "id-a", 1) + "x");
    for (std::size_t cut = 0; cut < 5; ++cut) {
        wire& slow = all.connect();
        wire& dripping = all.connect();
        slow.deliver(head("bbb", "id-b", 5) + std::string("hello").substr(0, cut));
        for (const char byte : head("ccc", "id-c", 3)) {
            dripping.deliver({&byte, 1});
        }
        all.connect().deliver(head("ddd", "id-d", 2) + "ok");
        EXPECT_EQ(all.handler.trace, "ddd");
        dripping.deliver("abc");
        EXPECT_EQ(all.handler.trace, "ccc");
        EXPECT_EQ(all.handler.handled.back(), "POST /t abc");
        EXPECT_EQ(read_replies(dripping.sent).at(0).headers.at("x-request-id"), "id-c");
        slow.deliver(std::string("hello").substr(cut));
        EXPECT_EQ(all.handler.trace, "bbb") << cut;
        EXPECT_EQ(all.handler.handled.back(), "POST /t hello") << cut;
        EXPECT_EQ(read_replies(slow.sent).at(0).headers.at("x-request-id"), "id-b");
    }
}

// A head that was known is judged by the limits that hold now.
TEST(connection_split, new_limits_hold_for_known_heads) {
    world all;
    wire& w = all.connect();
    const std::string request = "GET /one HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n";
    w.deliver(request + request);
    ASSERT_EQ(read_replies(w.sent).size(), 2U);
    server_limits fewer;
    fewer.head.fields_max = 1;
    all.server_.change(fewer);
    wire& other = all.connect();
    other.deliver(request);
    EXPECT_EQ(read_replies(other.sent).at(0).status, 431);
}

// Ids of up to 128 bytes are kept, whatever their length.
TEST(connection_split, request_ids_of_every_length_come_back) {
    world all;
    wire& w = all.connect();
    for (std::size_t bytes = 1; bytes <= 129; ++bytes) {
        const std::string id(bytes, static_cast<char>('a' + bytes % 26));
        w.sent.clear();
        w.deliver("GET /one HTTP/1.1\r\nHost: x\r\nX-Request-Id: " + id + "\r\n\r\n");
        const std::string back = read_replies(w.sent).at(0).headers.at("x-request-id");
        EXPECT_EQ(back == id, bytes <= limits::request_id_bytes_max) << bytes;
    }
}

TEST(connection_split, pairs_cut_at_every_two_bytes) {
    const std::string bytes = requests()[1] + requests()[2];
    for (std::size_t a = 0; a <= bytes.size(); ++a) {
        for (std::size_t b = a; b <= bytes.size(); ++b) {
            world all;
            wire& w = all.connect();
            w.deliver(std::string_view(bytes).substr(0, a));
            w.deliver(std::string_view(bytes).substr(a, b - a));
            w.deliver(std::string_view(bytes).substr(b));
            const auto replies = read_replies(w.sent);
            ASSERT_EQ(replies.size(), 2U) << a << " " << b;
            ASSERT_EQ(replies[0].body, answers()[1]);
            ASSERT_EQ(replies[1].body, answers()[2]);
        }
    }
}

TEST(connection_split, byte_by_byte) {
    world all;
    wire& w = all.connect();
    for (const char c : first(5)) {
        w.deliver({&c, 1});
    }
    expect_answers(w.sent, 5, "byte by byte");
}

// Delivers `bytes` cut at `cut` to a handler that answers some turns later.
void run_later(const std::string& bytes, std::size_t cut, std::size_t count, bool resume_at_once) {
    world all;
    all.handler.later = true;
    wire& w = all.connect();
    w.resume_at_once = resume_at_once;
    w.deliver(std::string_view(bytes).substr(0, cut));
    all.handler.answer();  // none or the first
    w.deliver(std::string_view(bytes).substr(cut));
    for (std::size_t i = 0; i < 2 * count; ++i) {
        all.handler.answer();
        all.turn();
    }
    expect_answers(w.sent, count, "cut at " + std::to_string(cut));
}

TEST(connection_split, later_answers_keep_the_order) {
    const std::string bytes = first(5);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        run_later(bytes, cut, 5, cut % 2 == 0);
    }
}

TEST(connection_split, next_request_waits_until_the_answer_is_queued) {
    world all;
    all.handler.later = true;
    wire& w = all.connect();
    w.deliver(first(3));
    all.turns(3);
    EXPECT_EQ(all.handler.handled.size(), 1U);
    all.handler.answer();
    // Nobody is called back from inside respond().
    EXPECT_EQ(all.handler.handled.size(), 1U);
    all.turn();
    EXPECT_EQ(all.handler.handled.size(), 2U);
    all.handler.answer();
    all.turn();
    all.handler.answer();
    all.turn();
    expect_answers(w.sent, 3, "in turn");
}

TEST(connection_split, end_of_input_at_every_byte_answers_what_is_whole) {
    const std::string bytes = first(5);
    for (const bool later : {false, true}) {
        for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
            world all;
            all.handler.later = later;
            wire& w = all.connect();
            w.deliver(std::string_view(bytes).substr(0, cut));
            w.eof();
            for (int i = 0; i < 8; ++i) {
                all.handler.answer();
                all.turn();
            }
            std::size_t whole = 0;
            while (whole < 5 && first(whole + 1).size() <= cut) {
                ++whole;
            }
            expect_answers(w.sent, whole, "end at " + std::to_string(cut));
            EXPECT_TRUE(w.closed);
            EXPECT_EQ(w.stream, nullptr);
        }
    }
}

TEST(connection_split, reset_at_every_byte_leaves_nothing) {
    const std::string bytes = first(5);
    for (const bool later : {false, true}) {
        for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
            world all;
            all.handler.later = later;
            wire& w = all.connect();
            w.deliver(std::string_view(bytes).substr(0, cut));
            const int open = all.handler.pending == nullptr ? 0 : 1;
            w.reset();
            all.turns(2);
            EXPECT_EQ(all.handler.gones, open);
            EXPECT_EQ(w.stream, nullptr);
        }
    }
}

TEST(connection_split, too_many_early_bytes_pause_reading_and_none_is_lost) {
    for (const bool at_once : {false, true}) {
        world all;
        all.handler.later = true;
        wire& w = all.connect();
        w.resume_at_once = at_once;
        std::string bytes;
        constexpr std::size_t count = 1000;
        for (std::size_t i = 0; i < count; ++i) {
            bytes += "POST /n HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
        }
        for (std::size_t at = 0; at < bytes.size(); at += 4000) {
            w.deliver(std::string_view(bytes).substr(at, 4000));
        }
        EXPECT_TRUE(w.paused);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_NE(all.handler.pending, nullptr) << i;
            all.handler.answer();
            all.turns(2);
        }
        EXPECT_EQ(read_replies(w.sent).size(), count);
        EXPECT_FALSE(w.paused);
    }
}

TEST(connection_split, large_bodies_arrive_whole) {
    std::string body(700'000, 'x');
    for (std::size_t i = 0; i < body.size(); ++i) {
        body[i] = static_cast<char>('a' + i % 23);
    }
    const std::string sized =
        "POST /s HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    std::string chunked = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < body.size(); at += 7000) {
        chunked += "1b58\r\n" + body.substr(at, 7000) + "\r\n";
    }
    chunked += "0\r\n\r\n";
    world all;
    wire& w = all.connect();
    const std::string bytes = sized + chunked;
    for (std::size_t at = 0; at < bytes.size(); at += 4032) {
        w.deliver(std::string_view(bytes).substr(at, 4032));
    }
    const auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), 2U);
    EXPECT_TRUE(replies[0].body == "POST /s " + body);
    EXPECT_TRUE(replies[1].body == "POST /c " + body);
}

}  // namespace
}  // namespace pillion::http::testing
