// Goal: response heads are read and framed as RFC 9112 §6.3 has it. Method: each head is parsed
// whole and byte by byte; malformed ones end in 502.

#include "http/response_parser.hpp"

#include <string>

#include <gtest/gtest.h>

#include "padded.hpp"

namespace pillion::http {
namespace {

using testing::padded;

parse_outcome parse_response(padded& text, response_head& head, bool to_head_request = false) {
    response_head dribbled;
    padded copy({text.data(), text.size()});
    parse_outcome slow;
    std::size_t before = 0;
    for (std::size_t size = 1; size <= copy.size() && slow.state == parse_state::need_more;
         ++size) {
        slow = parse_response_head(copy.data(), size, before, to_head_request, dribbled);
        before = size;
    }
    const parse_outcome whole =
        parse_response_head(text.data(), text.size(), 0, to_head_request, head);
    EXPECT_EQ(slow.state, whole.state);
    EXPECT_EQ(slow.status, whole.status);
    return whole;
}

TEST(response_parser, parts) {
    padded text("HTTP/1.1 404 Not  Found\r\nContent-LENGTH: 3\r\nX: y\r\n\r\nabc");
    response_head head;
    ASSERT_EQ(parse_response(text, head).state, parse_state::complete);
    EXPECT_EQ(head.status, 404);
    EXPECT_EQ(head.reason(), "Not  Found");
    EXPECT_EQ(head.body, body_kind::length);
    EXPECT_EQ(head.content_length, 3U);
    EXPECT_EQ(head.find("x"), "y");
    EXPECT_EQ(head.bytes, text.size() - 3);
    EXPECT_TRUE(head.keep_alive);
}

struct framing_expectation {
    const char* raw;
    bool to_head_request;
    body_kind body;
    bool keep_alive;
};

TEST(response_parser, framing) {
    const framing_expectation cases[] = {
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, body_kind::chunked, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, body_kind::none, true},
        {"HTTP/1.1 200 OK\r\n\r\n", false, body_kind::until_close, false},
        {"HTTP/1.0 200 OK\r\n\r\n", false, body_kind::until_close, false},
        {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", false, body_kind::length, false},
        {"HTTP/1.1 200\r\nConnection: close\r\nContent-Length: 1\r\n\r\n", false, body_kind::length,
         false},
        {"HTTP/1.1 200 \r\nContent-Length: 9\r\n\r\n", true, body_kind::none, true},
        {"HTTP/1.1 204 No Content\r\n\r\n", false, body_kind::none, true},
        {"HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n", false, body_kind::none, true},
        {"HTTP/1.1 100 Continue\r\n\r\n", false, body_kind::none, true},
    };
    for (const framing_expectation& c : cases) {
        padded text(c.raw);
        response_head head;
        ASSERT_EQ(parse_response(text, head, c.to_head_request).state, parse_state::complete)
            << c.raw;
        EXPECT_EQ(head.body, c.body) << c.raw;
        EXPECT_EQ(head.keep_alive, c.keep_alive) << c.raw;
    }
}

TEST(response_parser, malformed) {
    for (const char* raw : {
             "HTTP/2 200 OK\r\n\r\n",
             "HTTP/1.1 20 OK\r\n\r\n",
             "HTTP/1.1 2000 OK\r\n\r\n",
             "HTTP/1.1 2x0 OK\r\n\r\n",
             "HTTP/1.1 099 OK\r\n\r\n",
             "HTTP/1.1  200 OK\r\n\r\n",
             "http/1.1 200 OK\r\n\r\n",
             "HTTP/1.1 200 OK\n\n",
             "GET / HTTP/1.1\r\n\r\n",
             "\r\nHTTP/1.1 200 OK\r\n\r\n",
             "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
             "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
             "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
         }) {
        padded text(raw);
        response_head head;
        const parse_outcome outcome = parse_response(text, head);
        EXPECT_EQ(outcome.state, parse_state::failed) << raw;
        EXPECT_EQ(outcome.status, 502) << raw;
    }
    padded huge("HTTP/1.1 200 OK\r\nX: " + std::string(20000, 'x'));
    response_head head;
    EXPECT_EQ(parse_response(huge, head).state, parse_state::failed);
}

TEST(response_parser, every_truncation_wants_more) {
    const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\n";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        padded text(std::string_view(whole).substr(0, size));
        response_head head;
        ASSERT_EQ(parse_response_head(text.data(), size, 0, false, head).state,
                  parse_state::need_more)
            << size;
    }
}

}  // namespace
}  // namespace pillion::http
