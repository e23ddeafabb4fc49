// Goal: events come out byte-exact, and what the writer writes the decoder and the parser read.

#include "http/sse_writer.hpp"

#include <string>

#include <gtest/gtest.h>

#include "http/chunked.hpp"
#include "http/sse_parser.hpp"

namespace pillion::http {
namespace {

TEST(sse_writer, plain_event) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    append_sse_event(out, {}, "{}", false);
    EXPECT_EQ(out.view(), "data: {}\n\n");
}

TEST(sse_writer, all_fields_in_one_chunk) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    append_sse_event(out, {.id = "7", .event = "message", .retry_ms = 1500}, "{}", true);
    EXPECT_EQ(out.view(), "0000002b\r\nid: 7\nevent: message\nretry: 1500\ndata: {}\n\n\r\n");
}

TEST(sse_writer, priming_event_has_an_id_and_no_data) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    append_sse_event(out, {.id = "", .event = {}, .retry_ms = {}}, "", false);
    EXPECT_EQ(out.view(), "id: \ndata: \n\n");
}

TEST(sse_writer, keep_alive_and_end) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    append_sse_keep_alive(out, true);
    append_sse_end(out, true);
    EXPECT_EQ(out.view(), "e\r\n: keep-alive\n\n\r\n0\r\n\r\n");
    out.clear();
    append_sse_keep_alive(out, false);
    append_sse_end(out, false);
    EXPECT_EQ(out.view(), ": keep-alive\n\n");
}

TEST(sse_writer, stream_of_growing_events_is_read_back) {
    base::chunk_pool pool;
    base::byte_buffer out(pool, 100);
    for (std::size_t i = 0; i < 300; ++i) {
        const std::string id = std::to_string(i);
        const sse_mark mark = begin_sse_event(out, {.id = id, .event = {}, .retry_ms = {}}, true);
        for (std::size_t n = 0; n < i * 7; ++n) {  // grows the buffer between the marks
            out.append('x');
        }
        end_sse_event(out, mark);
        append_sse_keep_alive(out, true);
    }
    append_sse_end(out, true);
    std::string decoded(out.size(), '\0');
    chunk_decoder decoder(out.size());
    const chunk_outcome outcome = decoder.feed(out.view().data(), out.size(), decoded.data());
    ASSERT_EQ(outcome.state, parse_state::complete);
    ASSERT_EQ(outcome.consumed, out.size());
    sse_parser parser(10'000);
    std::string_view rest(decoded.data(), outcome.produced);
    for (std::size_t i = 0; i < 300; ++i) {
        const sse_step step = parser.feed(rest);
        ASSERT_EQ(step.state, sse_state::event);
        EXPECT_EQ(parser.event().id, std::to_string(i));
        EXPECT_EQ(parser.event().data, std::string(i * 7, 'x'));
        rest.remove_prefix(step.consumed);
    }
    EXPECT_EQ(parser.feed(rest).state, sse_state::need_more);
}

TEST(sse_writer_death, newlines_are_asserted) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    EXPECT_DEATH(append_sse_event(out, {}, "a\nb", true), "assertion failed");
    EXPECT_DEATH(append_sse_event(out, {}, "a\rb", false), "assertion failed");
    EXPECT_DEATH(append_sse_event(out, {.id = "1\n2", .event = {}, .retry_ms = {}}, "", false),
                 "assertion failed");
}

}  // namespace
}  // namespace pillion::http
