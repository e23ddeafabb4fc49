// Goal: which media types are taken, over the spellings clients really send.

#include "http/media.hpp"

#include <gtest/gtest.h>

#include "http/request_parser.hpp"
#include "padded.hpp"

namespace pillion::http {
namespace {

TEST(media, json_content_types) {
    for (const char* good : {"application/json", "APPLICATION/Json",
                             "application/json; charset=utf-8", "application/json;charset=UTF-8",
                             "application/json ; charset=\"utf-8\"", "application/json;"}) {
        EXPECT_TRUE(is_json_content_type(good)) << good;
    }
    for (const char* bad :
         {"", "text/json", "application/jsonx", "application/json-patch+json", "application",
          "application/json; charset=latin1", "application/json; charset", "json",
          "application/json; version", "application/json, application/json",
          "application/json; charset=\"utf-8", "application / json",
          "text/plain; application/json"}) {
        EXPECT_FALSE(is_json_content_type(bad)) << bad;
    }
}

struct accept_case {
    const char* value;
    bool json;
    bool sse;
};

TEST(media, accept) {
    const accept_case cases[] = {
        {"", true, true},
        {" \t", true, true},
        {"*/*", true, true},
        {"application/json, text/event-stream", true, true},
        {"text/event-stream,application/json", true, true},
        {"Application/JSON", true, false},
        {"text/event-stream", false, true},
        {"application/*", true, false},
        {"text/*", false, true},
        {"text/html", false, false},
        {"text/html, */*;q=0.1", true, true},
        {"application/json;q=0", false, false},
        {"application/json;q=0.0, text/event-stream", false, true},
        {"application/json;q=0.000, */*", false, true},
        {"*/*, application/json; q=0", false, true},
        {"*/*;q=0, text/event-stream", false, true},
        {"application/json;q=0.001", true, false},
        {"application/json;q=1.0;x=y", true, false},
        {"application/json;x=\"a,b;q=0\"", true, false},
        {"application/json;x=\"\\\",text/event-stream\"", true, false},
        {",, application/json ,,", true, false},
        {"*", false, false},
        {"application/jsonp", false, false},
        {";;;,\"", false, false},
    };
    for (const accept_case& c : cases) {
        const accepts got = parse_accept(std::string_view(c.value));
        EXPECT_EQ(got.json, c.json) << c.value;
        EXPECT_EQ(got.sse, c.sse) << c.value;
    }
}

TEST(media, accept_fields_are_one_list) {
    testing::padded text(
        "GET / HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\nAccept: "
        "application/json\r\n\r\n");
    request_head head;
    ASSERT_EQ(parse_request_head(text.data(), text.size(), 0, head).state, parse_state::complete);
    const accepts both = parse_accept(head);
    EXPECT_TRUE(both.json && both.sse);
}

TEST(media, absent_accept_takes_both) {
    testing::padded text("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    request_head head;
    ASSERT_EQ(parse_request_head(text.data(), text.size(), 0, head).state, parse_state::complete);
    const accepts both = parse_accept(head);
    EXPECT_TRUE(both.json && both.sse);
}

}  // namespace
}  // namespace pillion::http
