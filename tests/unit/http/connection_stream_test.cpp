// Event streams: framing in both HTTP versions, keep-alive comments, back-pressure, the end.
#include <gtest/gtest.h>

#include "connection_fixture.hpp"

namespace pillion::http::testing {
namespace {

constexpr std::string_view get_s = "GET /s HTTP/1.1\r\nHost: x\r\n\r\n";

bool send(exchange& to, std::string_view data, std::string_view id = {}, std::int64_t retry = -1) {
    base::byte_buffer event(to.loop().chunks(), exchange::head_gap);
    event.append(data);
    return to.send_event(std::move(event), id, retry);
}

// A world whose handler keeps the exchange for the test.
struct stream_world : world {
    stream_world() { handler.later = true; }
    exchange& open(wire& w, std::string_view request = get_s) {
        w.deliver(request);
        handler.pending->begin_sse();
        return *handler.pending;
    }
    void end() { std::exchange(handler.pending, nullptr)->end_sse(); }
};

TEST(connection_stream, events_are_chunks_of_their_own) {
    stream_world all;
    wire& w = all.connect();
    exchange& to = all.open(w);
    EXPECT_TRUE(to.streaming());
    reply head = read_replies(w.sent).at(0);
    EXPECT_EQ(head.headers["content-type"], "text/event-stream");
    EXPECT_EQ(head.headers["transfer-encoding"], "chunked");
    EXPECT_EQ(head.headers["x-accel-buffering"], "no");
    EXPECT_EQ(head.headers["x-request-id"].size(), 36U);
    w.sent.clear();
    w.writes = 0;
    EXPECT_TRUE(send(to, "{\"a\":1}"));
    EXPECT_EQ(w.sent, "0000000f\r\ndata: {\"a\":1}\n\n\r\n");
    EXPECT_EQ(w.writes, 1U);
    w.sent.clear();
    EXPECT_TRUE(send(to, "x", "s1-7", 3000));
    EXPECT_EQ(w.sent, "0000001e\r\nid: s1-7\nretry: 3000\ndata: x\n\n\r\n");
    w.sent.clear();
    // The priming event: an id and no data.
    EXPECT_TRUE(send(to, "", "p"));
    EXPECT_EQ(w.sent, "0000000e\r\nid: p\ndata: \n\n\r\n");
    w.sent.clear();
    all.end();
    EXPECT_EQ(w.sent, "0\r\n\r\n");
}

TEST(connection_stream, connection_goes_on_after_the_end) {
    stream_world all;
    wire& w = all.connect();
    exchange& to = all.open(w, std::string(get_s) + std::string(get_s));
    send(to, "one");
    all.end();
    all.turn();
    ASSERT_NE(all.handler.pending, nullptr);
    EXPECT_FALSE(all.handler.pending->streaming());
    all.handler.answer();
    const auto replies = read_replies(w.sent);
    ASSERT_EQ(replies.size(), 2U);
    EXPECT_TRUE(replies[0].complete);
    EXPECT_EQ(replies[0].body, "data: one\n\n");
    EXPECT_EQ(replies[1].body, "GET /s ");
}

TEST(connection_stream, http_1_0_stream_is_delimited_by_the_close) {
    for (const std::string_view extra : {"", "Connection: keep-alive\r\n"}) {
        stream_world all;
        wire& w = all.connect();
        exchange& to = all.open(w, "GET /s HTTP/1.0\r\n" + std::string(extra) + "\r\n");
        send(to, "one", "1");
        all.pass_ms(limits::sse_keepalive_ms + 10);
        all.end();
        all.turns(3);
        reply r = read_replies(w.sent).at(0);
        EXPECT_EQ(r.headers["connection"], "close");
        EXPECT_EQ(r.headers.count("transfer-encoding"), 0U);
        EXPECT_EQ(r.body, "id: 1\ndata: one\n\n: keep-alive\n\n");
        EXPECT_TRUE(w.closed);
    }
}

TEST(connection_stream, long_id_costs_a_copy_but_is_sent) {
    stream_world all;
    wire& w = all.connect();
    exchange& to = all.open(w);
    const std::string id(1000, 'i');
    send(to, "one", id, 5);
    all.end();
    EXPECT_EQ(read_replies(w.sent).at(0).body, "id: " + id + "\nretry: 5\ndata: one\n\n");
}

TEST(connection_stream, comments_keep_it_alive_counted_from_the_last_event) {
    stream_world all;
    wire& w = all.connect();
    exchange& to = all.open(w);
    w.sent.clear();
    all.pass_ms(14'000);
    send(to, "x");
    w.sent.clear();
    all.pass_ms(14'990);
    EXPECT_EQ(w.sent, "");
    all.pass_ms(20);
    EXPECT_EQ(w.sent, "e\r\n: keep-alive\n\n\r\n");
    all.pass_ms(45'000);
    EXPECT_EQ(w.sent.size(), 4 * std::string_view("e\r\n: keep-alive\n\n\r\n").size());
    all.end();
    all.pass_ms(30'000);
    EXPECT_EQ(w.sent.substr(w.sent.size() - 5), "0\r\n\r\n");
}

TEST(connection_stream, slow_reader_is_told_of_and_drains) {
    stream_world all;
    wire& w = all.connect();
    exchange& to = all.open(w);
    w.hold = true;
    const std::string data(10'000, 'd');
    int taken = 0;
    while (send(to, data)) {
        ++taken;
    }
    EXPECT_EQ(static_cast<std::size_t>(taken), limits::out_queue_bytes_high / 10'000);
    const std::size_t waits = w.stream->queued_bytes();
    all.pass_ms(60'000);
    EXPECT_EQ(w.stream->queued_bytes(), waits) << "comments for a peer that does not read";
    w.read_some(waits - limits::out_queue_bytes_low);
    EXPECT_EQ(all.handler.drains, 0);
    w.read_some(1);
    EXPECT_EQ(all.handler.drains, 1);
    EXPECT_TRUE(send(to, data));
    w.read_some(1'000'000);
    w.hold = false;
    all.end();
    EXPECT_EQ(read_replies(w.sent).at(0).body.size(),
              static_cast<std::size_t>(taken + 2) * (data.size() + 8));
}

TEST(connection_stream, reader_that_never_reads_is_cut_and_the_listener_told) {
    for (const bool at_once : {false, true}) {
        stream_world all;
        wire& w = all.connect();
        w.close_at_once = at_once;
        w.hold = true;
        exchange& to = all.open(w);
        const std::string data(100'000, 'd');
        for (int i = 0; i < 60; ++i) {
            send(to, data);
        }
        EXPECT_EQ(all.handler.gones, 0) << "not from inside send_event";
        all.turns(3);
        EXPECT_EQ(all.handler.gones, 1);
        EXPECT_EQ(w.stream, nullptr);
    }
}

TEST(connection_stream, disconnect_and_half_close) {
    stream_world all;
    wire& gone = all.connect();
    all.open(gone);
    gone.reset();
    all.turns(2);
    EXPECT_EQ(all.handler.gones, 1);
    wire& half = all.connect();
    exchange& to = all.open(half);
    half.eof();
    all.turns(2);
    EXPECT_EQ(all.handler.peer_eofs, 1);
    send(to, "still");
    all.end();
    all.turns(3);
    EXPECT_EQ(read_replies(half.sent).at(0).body, "data: still\n\n");
    EXPECT_TRUE(half.closed);
}

TEST(connection_stream, abort_in_the_middle_leaves_it_unfinished) {
    stream_world all;
    wire& w = all.connect();
    exchange& to = all.open(w);
    send(to, "one");
    std::exchange(all.handler.pending, nullptr)->abort();
    all.turns(2);
    EXPECT_FALSE(read_replies(w.sent).at(0).complete);
    EXPECT_EQ(w.stream, nullptr);
    EXPECT_EQ(all.handler.gones, 0);
}

TEST(connection_stream, head_request_gets_the_head_only) {
    stream_world all;
    wire& w = all.connect();
    exchange& to = all.open(w, "HEAD /s HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(send(to, "one"));
    all.pass_ms(60'000);
    all.end();
    EXPECT_EQ(w.sent.find("data"), std::string::npos);
    EXPECT_EQ(w.sent.substr(w.sent.size() - 4), "\r\n\r\n");
    EXPECT_EQ(read_replies(w.sent, true).size(), 1U);
}

TEST(connection_stream, early_bytes_are_bounded_while_it_lasts) {
    stream_world all;
    wire& w = all.connect();
    all.open(w);
    for (int i = 0; i < 100; ++i) {
        w.deliver(get_s);
        w.deliver(std::string(1000, '\n'));
    }
    EXPECT_TRUE(w.paused);
    w.reset();
    all.turns(2);
    EXPECT_EQ(all.handler.gones, 1);
}

}  // namespace
}  // namespace pillion::http::testing
