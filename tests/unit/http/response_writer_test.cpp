// Goal: heads are byte-exact, sit right before the body, and cannot be broken by a field value.

#include "http/response_writer.hpp"

#include <string>

#include <gtest/gtest.h>

#include "http/date.hpp"
#include "http/media.hpp"
#include "http/response_parser.hpp"
#include "padded.hpp"

namespace pillion::http {
namespace {

constexpr std::string_view date = "Sun, 06 Nov 1994 08:49:37 GMT";

// The whole reply for a body and a spec.
std::string render(std::string_view body, response_spec spec) {
    base::chunk_pool pool;
    base::byte_buffer out(pool, head_gap_bytes);
    out.append(body);
    write_head(out, spec);
    return std::string(out.view());
}

TEST(response_writer, json_reply) {
    response_spec spec;
    spec.content_type = "application/json";
    spec.date = date;
    EXPECT_EQ(render("{\"a\":1}", spec),
              "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
              "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
}

// What is kept for a second says the same as what is written anew.
TEST(response_writer, usual_replies_begin_as_others_do) {
    usual_begin kept;
    date_cache dates;
    const header_line lines[] = {{"X-More", "a\rb"}};
    for (const std::int64_t second : {784'111'777, 784'111'777, 784'111'778, 784'111'777}) {
        for (const std::string_view body : {"", "{}", "{\"a\":[1,2,3]}"}) {
            for (const int how : {0, 1, 2, 3}) {
                response_spec spec;
                spec.content_type = json_media_type;
                spec.date = dates.at(second);
                spec.request_id = "id-1";
                spec.extra = lines;
                spec.keep_alive = how != 1;
                spec.minor_version = how == 2 ? 0 : 1;
                spec.head_request = how == 3;
                response_spec quick = spec;
                quick.usual = kept.at(second, spec.date);
                EXPECT_EQ(render(body, quick), render(body, spec)) << body << how;
            }
        }
    }
}

TEST(response_writer, accepted_has_no_type_and_length_zero) {
    response_spec spec;
    spec.status = 202;
    spec.content_type = "application/json";
    EXPECT_EQ(render("", spec), "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
}

TEST(response_writer, no_content_and_not_modified_have_neither_length_nor_body) {
    response_spec spec;
    spec.status = 204;
    EXPECT_EQ(render("", spec), "HTTP/1.1 204 No Content\r\n\r\n");
    EXPECT_EQ(render("dropped", spec), "HTTP/1.1 204 No Content\r\n\r\n");
    spec.status = 304;
    EXPECT_EQ(render("", spec), "HTTP/1.1 304 Not Modified\r\n\r\n");
}

TEST(response_writer, head_request_keeps_the_length_and_drops_the_body) {
    response_spec spec;
    spec.head_request = true;
    spec.content_type = "text/plain";
    EXPECT_EQ(render("12345", spec),
              "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n");
}

TEST(response_writer, method_not_allowed_names_methods_and_closes) {
    response_spec spec;
    spec.status = 405;
    spec.allow = "POST, OPTIONS";
    spec.keep_alive = false;
    EXPECT_EQ(render("", spec),
              "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: POST, OPTIONS\r\n"
              "Connection: close\r\n\r\n");
}

TEST(response_writer, http_1_0_clients_are_told_of_keep_alive) {
    response_spec spec;
    spec.minor_version = 0;
    EXPECT_EQ(render("", spec),
              "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
    spec.keep_alive = false;
    EXPECT_EQ(render("", spec),
              "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST(response_writer, extra_values_cannot_break_out_of_their_line) {
    const std::string evil("a\r\nSet-Cookie: x\n\0\x7f\tz", 21);
    const header_line extra[] = {{"X-Request-Id", evil}, {"X-Empty", ""}};
    response_spec spec;
    spec.extra = extra;
    EXPECT_EQ(render("", spec),
              "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Request-Id: a  Set-Cookie: x   \tz\r\n"
              "X-Empty: \r\n\r\n");
}

TEST(response_writer, heads_of_every_size_around_the_gap_come_out_whole) {
    for (std::size_t bytes = 0; bytes < 1500; ++bytes) {
        const std::string value(bytes, 'v');
        const header_line extra[] = {{"X-Long", value}};
        response_spec spec;
        spec.extra = extra;
        ASSERT_EQ(render("body", spec),
                  "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Long: " + value + "\r\n\r\nbody");
    }
}

TEST(response_writer, stream_heads) {
    base::chunk_pool pool;
    base::byte_buffer out(pool, head_gap_bytes);
    const header_line extra[] = {{"Mcp-Session-Id", "s"}};
    response_spec spec;
    spec.date = date;
    spec.extra = extra;
    EXPECT_TRUE(write_chunked_head(out, spec));
    EXPECT_EQ(out.view(),
              "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
              "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"
              "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\nMcp-Session-Id: s\r\n\r\n");
    out.clear();
    spec.minor_version = 0;
    spec.extra = {};
    spec.date = {};
    EXPECT_FALSE(write_chunked_head(out, spec));
    EXPECT_EQ(out.view(),
              "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
              "X-Accel-Buffering: no\r\nConnection: close\r\n\r\n");
}

TEST(response_writer, own_heads_pass_the_own_parser) {
    for (std::uint16_t status = 200; status < 600; ++status) {
        response_spec spec;
        spec.status = status;
        testing::padded text(render("body", spec));
        response_head head;
        ASSERT_EQ(parse_response_head(text.data(), text.size(), 0, false, head).state,
                  parse_state::complete);
        EXPECT_EQ(head.status, status);
        EXPECT_EQ(head.reason(), reason_phrase(status));
        EXPECT_EQ(head.bytes + head.content_length, text.size());
    }
}

TEST(response_writer_death, our_own_mistakes_are_asserted) {
    response_spec spec;
    spec.content_type = "a\r\nb";
    EXPECT_DEATH(render("x", spec), "assertion failed");
    const header_line extra[] = {{"Bad Name", "v"}};
    response_spec other;
    other.extra = extra;
    EXPECT_DEATH(render("x", other), "assertion failed");
}

TEST(response_writer, the_length_counts_what_is_sent_behind) {
    response_spec spec;
    spec.content_type = "application/json";
    spec.date = date;
    spec.rest_bytes = 5000;
    const std::string_view type = "Content-Type: application/json\r\n";
    const std::string begin = "HTTP/1.1 200 OK\r\nDate: " + std::string(date) + "\r\n";
    EXPECT_EQ(render("{\"a\":", spec),
              begin + std::string(type) + "Content-Length: 5005\r\n\r\n{\"a\":");
    EXPECT_EQ(render("", spec), begin + std::string(type) + "Content-Length: 5000\r\n\r\n");
}

}  // namespace
}  // namespace pillion::http
