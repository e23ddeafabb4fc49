// url_target: whatever an argument is, it is one value of one place.
#include "sidecar/url_target.hpp"

#include <cctype>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::sidecar {
namespace {

using pairs = std::vector<std::pair<std::string, std::string>>;

std::string target(const char* base, const char* path, const pairs& query,
                   const std::string& json) {
    url_target made;
    std::string fault;
    if (!url_target::parse(base, path, query, made, fault)) {
        return "refused: " + fault;
    }
    const auto parsed = json::document::parse(json);
    std::string to;
    return made.render(parsed->root(), to, fault) ? to : "fault: " + fault;
}

TEST(url_target, places_are_encoded) {
    EXPECT_EQ(target("/v1/", "/u/{id}", {}, R"({"id":"a/b c?d#e%ü"})"),
              "/v1/u/a%2Fb%20c%3Fd%23e%25%C3%BC");
    EXPECT_EQ(target("/", "/{a}.{b}", {}, R"({"a":1,"b":true})"), "/1.true");
    EXPECT_EQ(target("", "/", {}, "{}"), "/");
    EXPECT_EQ(target("/v1", "/x/", {}, "{}"), "/v1/x/");
}

// Every byte: what stands in the target is unreserved or encoded.
TEST(url_target, every_byte) {
    for (int c = 1; c < 256; ++c) {
        std::string out;
        append_encoded(std::string(1, static_cast<char>(c)), out);
        const bool plain = std::isalnum(c) != 0 && c < 128;
        EXPECT_TRUE(out.size() == 3 || (out.size() == 1 && (plain || std::strchr("-._~", c))))
            << c << out;
    }
}

TEST(url_target, segments_that_are_no_names_are_refused) {
    for (const char* const id : {".", "..", ""}) {
        const std::string json = "{\"id\":\"" + std::string(id) + "\"}";
        EXPECT_TRUE(target("", "/a/{id}/b", {}, json).starts_with("fault: ")) << id;
        EXPECT_TRUE(target("", "/a/{id}", {}, json).starts_with("fault: ")) << id;
    }
    EXPECT_EQ(target("", "/a/{x}{y}", {}, R"({"x":".","y":"."})"),
              "fault: An argument in the path is empty, . or ..");
    EXPECT_EQ(target("", "/a/v{x}", {}, R"({"x":".."})"), "/a/v..");
    EXPECT_EQ(target("", "/a/{x}", {}, "{}"), "fault: The argument x is missing");
    EXPECT_TRUE(target("", "/a/{x}", {}, R"({"x":[]})").starts_with("fault: "));
}

TEST(url_target, queries) {
    const pairs query = {{"a b", "{x}"}, {"c", "v {y}"}, {"d", "1"}};
    EXPECT_EQ(target("", "/p", query, R"({"x":["1&2",3],"y":"z"})"),
              "/p?a%20b=1%262&a%20b=3&c=v%20z&d=1");
    EXPECT_EQ(target("", "/p", query, R"({"y":""})"), "/p?c=v%20&d=1");
    EXPECT_TRUE(target("", "/p", query, R"({"y":"","x":[{}]})").starts_with("fault: "));
    EXPECT_TRUE(target("", "/p", query, R"({"x":1})").starts_with("fault: "));
}

TEST(url_target, templates_that_are_none) {
    for (const char* const path : {"x", "", "/a b", "/a?b", "/a#", "/{", "/\x7f", "/\r\n"}) {
        EXPECT_TRUE(target("", path, {}, "{}").starts_with("refused: ")) << path;
    }
}

TEST(url_target, field_values) {
    std::string to;
    EXPECT_TRUE(add_field_text("a b\t\xc3\xbc", to));
    for (const char c : {'\r', '\n', '\0', '\x7f', '\x01'}) {
        std::string ignored;
        EXPECT_FALSE(add_field_text(std::string("a") + c, ignored));
    }
}

}  // namespace
}  // namespace pillion::sidecar
