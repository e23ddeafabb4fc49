// Goal: event streams are read as WHATWG HTML §9.2.6 has it. Method: every stream is fed whole,
// split at every byte, and byte by byte.

#include "http/sse_parser.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace pillion::http {
namespace {

void feed_all(sse_parser& parser, std::string_view bytes, std::string& log) {
    while (!bytes.empty() && !log.ends_with("too large;")) {
        const sse_step step = parser.feed(bytes);
        bytes.remove_prefix(step.consumed);
        if (step.state == sse_state::too_large) {
            log += "too large;";
            break;
        }
        if (step.state == sse_state::event) {
            const sse_event& e = parser.event();
            log += e.type + "|" + e.id + "|" + e.data + ";";
        }
    }
}

// What the stream says: "type|id|data;" for each event.
std::string read(std::string_view stream) {
    sse_parser whole(1000);
    std::string want;
    feed_all(whole, stream, want);
    for (std::size_t at = 0; at <= stream.size(); ++at) {
        sse_parser split(1000);
        std::string got;
        feed_all(split, stream.substr(0, at), got);
        feed_all(split, stream.substr(at), got);
        EXPECT_EQ(got, want) << "split at " << at;
    }
    sse_parser dribble(1000);
    std::string got;
    for (std::size_t at = 0; at < stream.size(); ++at) {
        feed_all(dribble, stream.substr(at, 1), got);
    }
    EXPECT_EQ(got, want);
    EXPECT_EQ(dribble.retry_ms(), whole.retry_ms());
    EXPECT_EQ(dribble.last_event_id(), whole.last_event_id());
    return want;
}

TEST(sse_parser, examples_of_the_standard) {
    EXPECT_EQ(read("data: YHOO\ndata: +2\ndata: 10\n\n"), "message||YHOO\n+2\n10;");
    EXPECT_EQ(read(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
                   "data:  third event\n\n"),
              "message|1|first event;message||second event;message|| third event;");
    EXPECT_EQ(read("data\n\ndata\ndata\n\ndata:"), "message||;message||\n;");
    EXPECT_EQ(read("data:test\n\ndata: test\n\n"), "message||test;message||test;");
}

TEST(sse_parser, all_line_ends) {
    EXPECT_EQ(read("data: a\r\rdata: b\r\n\r\ndata: c\n\ndata: d\r\n\ndata: e\n\r\n"),
              "message||a;message||b;message||c;message||d;message||e;");
}

TEST(sse_parser, byte_order_mark_at_the_start_only) {
    EXPECT_EQ(read("\xEF\xBB\xBF"
                   "data: a\n\n"),
              "message||a;");
    EXPECT_EQ(read("data: a\n\n\xEF\xBB\xBF"
                   "data: b\n\n"),
              "message||a;");
}

TEST(sse_parser, types_are_per_event_and_ids_stay) {
    EXPECT_EQ(read("event: x\nid: 1\ndata: a\n\ndata: b\n\nevent: y\n\ndata: c\n\n"),
              "x|1|a;message|1|b;message|1|c;");
}

TEST(sse_parser, id_with_nul_is_ignored) {
    EXPECT_EQ(read(std::string_view("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", 32)),
              "message|1|a;message|1|b;");
}

TEST(sse_parser, unknown_fields_and_comments_are_skipped) {
    EXPECT_EQ(read("foo: bar\n:\n: keep-alive\nDATA: no\n data: no\ndata: a:b\n\n"),
              "message||a:b;");
}

TEST(sse_parser, retry_takes_digits_only) {
    sse_parser parser(100);
    std::string log;
    feed_all(parser, "retry: 12x\n", log);
    EXPECT_FALSE(parser.retry_ms());
    feed_all(parser, "retry: 1500\n\nretry:\n", log);
    EXPECT_EQ(parser.retry_ms(), 1500U);
}

TEST(sse_parser, id_of_a_block_without_data_counts) {
    sse_parser parser(100);
    std::string log;
    feed_all(parser, "id: 5\n\n", log);
    EXPECT_EQ(log, "");
    EXPECT_EQ(parser.last_event_id(), "5");
}

TEST(sse_parser, unfinished_event_is_dropped) {
    EXPECT_EQ(read("data: a\n\ndata: b\n"), "message||a;");
}

TEST(sse_parser, another_stream_begins_anew) {
    sse_parser parser(100);
    std::string log;
    feed_all(parser, "\xEF\xBB\xBFid: 5\nretry: 7\ndata: a\n\nevent: e\ndata: lost\r", log);
    parser.reset();
    EXPECT_EQ(parser.last_event_id(), "");
    EXPECT_EQ(parser.retry_ms(), std::nullopt);
    feed_all(parser, "\xEF\xBB\xBF\n\ndata: b\n\n", log);
    EXPECT_EQ(log, "message|5|a;message||b;");
}

TEST(sse_parser, size_is_bounded) {
    EXPECT_EQ(read("data: " + std::string(900, 'x') + "\n\n"),
              "message||" + std::string(900, 'x') + ";");
    EXPECT_EQ(read("data: " + std::string(1200, 'x')), "too large;");
    std::string lines;
    for (int i = 0; i < 200; ++i) {
        lines += "data: 12345\n";
    }
    sse_parser parser(1000);
    EXPECT_EQ(parser.feed(lines).state, sse_state::too_large);
}

}  // namespace
}  // namespace pillion::http
