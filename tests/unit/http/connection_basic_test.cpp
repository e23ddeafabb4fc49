// One request at a time: replies, their heads, keep-alive, request ids, listeners, the end.
#include <array>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "connection_fixture.hpp"

namespace pillion::http::testing {
namespace {

constexpr std::string_view post_b = "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";

TEST(connection_basic, reply_is_one_write_with_length_date_and_request_id) {
    world all;
    wire& w = all.connect();
    w.deliver(post_b);
    EXPECT_EQ(w.writes, 1U);
    const auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), 1U);
    reply r = replies[0];
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.body, "POST /b hello");
    EXPECT_EQ(r.headers["content-type"], "text/plain");
    EXPECT_EQ(r.headers["date"], "Sun, 06 Nov 1994 08:49:38 GMT");
    EXPECT_EQ(r.headers.count("connection"), 0U);
    EXPECT_EQ(r.headers["x-request-id"].size(), 36U);
}

// RFC 9562 §5.4: five groups, the version and the variant where they belong, and every other place
// takes every digit.
TEST(connection_basic, request_ids_that_we_make_are_random_uuids) {
    constexpr std::string_view form = "xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx";
    world all;
    wire& w = all.connect();
    std::array<std::set<char>, form.size()> seen;
    for (int i = 0; i < 500; ++i) {
        w.deliver(get_a);
        const std::string id =
            read_replies(std::exchange(w.sent, {})).at(0).headers["x-request-id"];
        ASSERT_EQ(id.size(), form.size());
        for (std::size_t at = 0; at < id.size(); ++at) {
            seen[at].insert(id[at]);
        }
        all.turn();
    }
    const auto digits = [](std::string_view of) { return std::set<char>(of.begin(), of.end()); };
    for (std::size_t at = 0; at < form.size(); ++at) {
        const bool any = form[at] == 'x';
        const bool variant = form[at] == 'v';
        EXPECT_EQ(seen[at], digits(any       ? "0123456789abcdef"
                                   : variant ? "89ab"
                                             : form.substr(at, 1)))
            << at;
    }
}

TEST(connection_basic, connection_persists_and_request_ids_differ) {
    world all;
    wire& w = all.connect();
    for (int i = 0; i < 5; ++i) {
        w.deliver(get_a);
        w.deliver(post_b);
        all.turn();
    }
    auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), 10U);
    EXPECT_FALSE(w.closing);
    EXPECT_NE(replies[0].headers["x-request-id"], replies[1].headers["x-request-id"]);
    EXPECT_EQ(replies[8].body, "GET /a ");
    EXPECT_EQ(replies[9].body, "POST /b hello");
}

std::string id_sent_back(std::string_view id) {
    world all;
    wire& w = all.connect();
    std::string request = "GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: ";
    request += id;
    request += "\r\n\r\n";
    w.deliver(request);
    return read_replies(w.sent).at(0).headers["x-request-id"];
}

TEST(connection_basic, acceptable_request_id_is_sent_back_and_others_replaced) {
    EXPECT_EQ(id_sent_back("abc-1~"), "abc-1~");
    const std::string longest(128, 'i');
    EXPECT_EQ(id_sent_back(longest), longest);
    EXPECT_EQ(id_sent_back(longest + "i").size(), 36U);
    EXPECT_EQ(id_sent_back("a b").size(), 36U);
    EXPECT_EQ(id_sent_back("a\x80").size(), 36U);
    EXPECT_EQ(id_sent_back("").size(), 36U);
}

TEST(connection_basic, head_gets_the_length_and_no_body) {
    world all;
    wire& w = all.connect();
    w.deliver("HEAD /abc HTTP/1.1\r\nHost: x\r\n\r\n");
    w.deliver("HEAD /404 HTTP/1.1\r\nHost: x\r\n\r\n");
    auto replies = read_replies(w.sent, true);
    ASSERT_EQ(replies.size(), 2U);
    EXPECT_EQ(replies[0].headers["content-length"], "10");
    EXPECT_EQ(replies[1].status, 404);
    // The next request is not a HEAD any more.
    w.sent.clear();
    w.deliver(get_a);
    EXPECT_EQ(read_replies(w.sent).at(0).body, "GET /a ");
}

struct status_handler : test_handler {
    std::uint16_t status = 0;
    void handle(exchange& request) noexcept override {
        const extra_header extra[] = {{"Mcp-Session-Id", "s1"}, {"Allow", "POST"}};
        request.respond_empty(status, extra, 2);
    }
};

TEST(connection_basic, empty_replies_by_status) {
    for (const int code : {200, 202, 204, 304, 405}) {
        const auto status = static_cast<std::uint16_t>(code);
        status_handler handler;
        handler.status = status;
        io::reactor loop(std::make_unique<idle_backend>());
        wire w;
        {
            server s(loop, handler, server_limits());
            s.serve(std::make_unique<fake_stream>(w));
            w.deliver(post_b);
            w.deliver(post_b);
            auto replies = read_replies(w.sent);
            EXPECT_EQ(replies.size(), 2U) << status;
            reply r = replies.at(1);
            EXPECT_EQ(r.status, status);
            EXPECT_EQ(r.headers.count("content-length"), status == 204 || status == 304 ? 0U : 1U);
            EXPECT_EQ(r.headers.count("content-type"), 0U);
            EXPECT_EQ(r.headers["mcp-session-id"], "s1");
            EXPECT_EQ(r.headers["allow"], "POST");
            w.eof();
            loop.run_one(0);
            w.stream->turn();
            for (int i = 0; i < 4; ++i) {
                loop.run_one(0);
            }
            EXPECT_TRUE(s.idle());
        }
        EXPECT_EQ(loop.chunks().live(), 0U);
    }
}

TEST(connection_basic, http_1_0_closes_unless_asked_to_stay) {
    world all;
    wire& one = all.connect();
    one.deliver("GET / HTTP/1.0\r\n\r\n");
    all.turns(3);
    EXPECT_EQ(read_replies(one.sent).at(0).headers["connection"], "close");
    EXPECT_TRUE(one.closed);
    wire& two = all.connect();
    two.deliver("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    all.turns(3);
    EXPECT_EQ(read_replies(two.sent).at(0).headers["connection"], "keep-alive");
    EXPECT_FALSE(two.closing);
}

TEST(connection_basic, client_that_asks_for_close_gets_it_without_lingering) {
    world all;
    wire& w = all.connect();
    w.deliver("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    all.turns(3);
    EXPECT_EQ(read_replies(w.sent).at(0).headers["connection"], "close");
    EXPECT_FALSE(w.half_closed);
    EXPECT_TRUE(w.closed);
    EXPECT_EQ(w.stream, nullptr);
}

TEST(connection_basic, client_that_asks_for_close_and_sends_on_is_lingered_for_and_not_served) {
    world all;
    wire& w = all.connect();
    w.deliver("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\n");
    w.deliver("Host: x\r\n\r\n");
    all.turns(3);
    EXPECT_EQ(read_replies(w.sent).size(), 1U);
    EXPECT_TRUE(w.half_closed);
    EXPECT_FALSE(w.closing);
    w.eof();
    all.turns(4);
    EXPECT_EQ(w.stream, nullptr);
}

TEST(connection_basic, close_after_is_announced_and_lingers) {
    world all;
    all.handler.later = true;
    wire& w = all.connect();
    w.deliver(get_a);
    all.handler.pending->close_after();
    all.handler.answer();
    all.turns(3);
    EXPECT_EQ(read_replies(w.sent).at(0).headers["connection"], "close");
    EXPECT_TRUE(w.half_closed);
    EXPECT_FALSE(w.closing);
    w.eof();
    all.turns(3);
    EXPECT_TRUE(w.closed);
}

TEST(connection_basic, abort_closes_without_an_answer) {
    for (const bool at_once : {false, true}) {
        world all;
        all.handler.later = true;
        wire& w = all.connect();
        w.close_at_once = at_once;
        w.deliver(post_b);
        std::exchange(all.handler.pending, nullptr)->abort();
        all.turns(3);
        EXPECT_TRUE(w.closed);
        EXPECT_EQ(w.sent, "");
        EXPECT_EQ(all.handler.gones, 0);
    }
}

// A connection whose peer has hung up during its second request, the answer to the first unread.
wire& abandoned_with_an_answer_unread(world& all) {
    all.handler.later = true;
    wire& w = all.connect();
    w.hold = true;
    w.deliver(get_a);
    all.handler.answer();
    w.deliver(post_b);
    w.eof();
    all.turns(3);
    std::exchange(all.handler.pending, nullptr)->abandon();
    all.turns(3);
    EXPECT_TRUE(w.closing);
    EXPECT_FALSE(w.closed);
    return w;
}

// A client of 2026-07-28 that hung up while its second call ran lost the answer to its first one.
TEST(connection_basic, abandoned_exchange_takes_no_earlier_answer_along) {
    world all;
    wire& w = abandoned_with_an_answer_unread(all);
    w.read_some(SIZE_MAX);
    all.turns(3);
    EXPECT_TRUE(w.closed);
    const auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_TRUE(replies[0].complete);
    EXPECT_EQ(all.handler.gones, 0);
}

// Who hung up and does not read what is left either is not waited for.
TEST(connection_basic, abandoned_exchange_waits_for_its_reader_no_longer_than_for_others) {
    world all;
    const wire& w = abandoned_with_an_answer_unread(all);
    all.pass_ms(limits::head_timeout_ms + 1000);
    all.turns(3);
    EXPECT_TRUE(w.closed);
}

TEST(connection_basic, disconnect_while_the_handler_works_is_told_once) {
    world all;
    all.handler.later = true;
    wire& w = all.connect();
    w.deliver(post_b);
    w.reset();
    all.turns(3);
    EXPECT_EQ(all.handler.gones, 1);
    EXPECT_EQ(all.handler.peer_eofs, 0);
    EXPECT_EQ(w.stream, nullptr);
}

TEST(connection_basic, answer_between_disconnect_and_the_news_of_it_is_dropped) {
    world all;
    all.handler.later = true;
    wire& w = all.connect();
    w.deliver(post_b);
    w.reset();
    all.handler.answer();
    all.turns(3);
    EXPECT_EQ(all.handler.gones, 0);
    EXPECT_EQ(w.stream, nullptr);
}

TEST(connection_basic, half_close_is_told_and_the_answer_still_written) {
    world all;
    all.handler.later = true;
    wire& w = all.connect();
    w.deliver(post_b);
    w.eof();
    all.turn();
    EXPECT_EQ(all.handler.peer_eofs, 1);
    EXPECT_FALSE(w.closing);
    all.handler.answer();
    all.turns(3);
    EXPECT_EQ(read_replies(w.sent).at(0).body, "POST /b hello");
    EXPECT_TRUE(w.closed);
    EXPECT_EQ(all.handler.peer_eofs, 1);
}

TEST(connection_basic, listener_that_comes_late_hears_of_the_half_close) {
    world all;
    all.handler.later = true;
    all.handler.listens = false;
    wire& w = all.connect();
    w.deliver(post_b);
    w.eof();
    all.turn();
    EXPECT_EQ(all.handler.peer_eofs, 0);
    all.handler.pending->listen(&all.handler);
    EXPECT_EQ(all.handler.peer_eofs, 0);
    all.turn();
    EXPECT_EQ(all.handler.peer_eofs, 1);
    all.handler.answer();
    all.turns(3);
    EXPECT_TRUE(w.closed);
}

int tags_freed = 0;

TEST(connection_basic, tag_is_replaced_and_freed_with_the_connection) {
    tags_freed = 0;
    int first = 0;
    int second = 0;
    {
        world all;
        all.handler.later = true;
        wire& w = all.connect();
        w.deliver(get_a);
        const auto free_tag = [](void*) noexcept { ++tags_freed; };
        all.handler.pending->set_tag(&first, free_tag);
        EXPECT_EQ(all.handler.pending->tag(), &first);
        all.handler.answer();
        all.turn();
        w.deliver(get_a);
        EXPECT_EQ(all.handler.pending->tag(), &first);
        all.handler.pending->set_tag(&second, free_tag);
        EXPECT_EQ(tags_freed, 1);
        EXPECT_EQ(all.handler.pending->peer(), "test:1");
        EXPECT_EQ(all.handler.pending->peer_address(), "test");
        all.handler.answer();
        w.eof();
        all.turns(4);
        EXPECT_EQ(tags_freed, 2);
    }
    EXPECT_EQ(tags_freed, 2);
}

struct taking_handler : test_handler {
    base::chunk* taken = nullptr;
    void handle(exchange& request) noexcept override {
        taken = request.take_body();
        EXPECT_EQ(request.body(), "");
        EXPECT_EQ(request.take_body(), nullptr);
        request.respond_empty(202);
    }
};

TEST(connection_basic, taken_body_outlives_the_exchange_with_padding_behind) {
    taking_handler handler;
    io::reactor loop(std::make_unique<idle_backend>());
    {
        wire w;
        server s(loop, handler, server_limits());
        s.serve(std::make_unique<fake_stream>(w));
        w.deliver(get_a);
        EXPECT_EQ(handler.taken, nullptr);
        w.deliver(post_b);
        w.reset();
        for (int i = 0; i < 4; ++i) {
            loop.run_one(0);
        }
        EXPECT_TRUE(s.idle());
    }
    ASSERT_NE(handler.taken, nullptr);
    const char* data = handler.taken->data() + handler.taken->begin;
    EXPECT_EQ(std::string_view(data, handler.taken->size()), "hello");
    ASSERT_GE(handler.taken->room(), limits::padding);
    for (std::size_t i = 0; i < limits::padding; ++i) {
        EXPECT_EQ(data[5 + i], 0);
    }
    base::chunk_pool::give(handler.taken);
    EXPECT_EQ(loop.chunks().live(), 0U);
}

// Twenty connections that sent requests and read nothing took a gigabyte.
TEST(connection_basic, who_does_not_read_answers_gets_no_more_of_them) {
    world all;
    wire& w = all.connect();
    w.hold = true;
    std::string many;
    constexpr std::size_t count = 5000;
    for (std::size_t i = 0; i < count; ++i) {
        many += "GET /n" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
    }
    for (std::size_t at = 0; at < many.size(); at += 4000) {
        w.deliver(std::string_view(many).substr(at, 4000));
        all.turn();
    }
    const std::size_t held = w.stream->queued_bytes();
    EXPECT_GT(held, limits::out_queue_bytes_high);
    EXPECT_LT(held, limits::out_queue_bytes_high + 1000);
    EXPECT_TRUE(w.paused);
    EXPECT_LT(all.handler.handled.size(), 1000U);
    for (int i = 0; i < 1000 && all.handler.handled.size() < count; ++i) {
        w.read_some(10'000);
        all.turns(2);
        EXPECT_LT(w.stream->queued_bytes(), limits::out_queue_bytes_high + 1000);
    }
    w.read_some(many.size() * 10);
    const auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(replies[i].body, "GET /n" + std::to_string(i) + " ");
    }
    EXPECT_FALSE(w.paused);
}

TEST(connection_basic, who_never_reads_answers_is_cut) {
    world all;
    wire& w = all.connect();
    w.hold = true;
    for (int i = 0; i < 2000; ++i) {
        w.deliver("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    all.pass_ms(limits::idle_timeout_ms - 10);
    EXPECT_FALSE(w.closing);
    all.pass_ms(20);
    EXPECT_TRUE(w.closing);
    w.read_some(1 << 30);
    all.turns(3);
    EXPECT_TRUE(w.closed);
}

}  // namespace
}  // namespace pillion::http::testing
