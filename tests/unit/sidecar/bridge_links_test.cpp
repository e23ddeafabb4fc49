// bridge_links: which server is asked for what no list has, for whom, and how much is remembered.
#include "sidecar/bridge_links.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::sidecar {
namespace {

constexpr std::string_view everybody = bridge_links::everybody;

TEST(bridge_links, the_server_that_named_it_last_is_asked) {
    bridge_links links;
    EXPECT_FALSE(links.owns("x://1"));
    links.note("a", everybody, {"x://1", "x://2"});
    links.note("b", everybody, {"x://1"});
    EXPECT_TRUE(links.owns("x://1"));
    EXPECT_EQ(links.server_of("x://1", "session 1"), "b");
    EXPECT_EQ(links.server_of("x://2", ""), "a");
    EXPECT_EQ(links.server_of("x://", ""), "");
    EXPECT_FALSE(links.owns("x://"));
    links.forget("b");
    EXPECT_FALSE(links.owns("x://1"));
    EXPECT_TRUE(links.owns("x://2"));
}

TEST(bridge_links, what_one_client_was_told_is_for_no_other) {
    bridge_links links;
    links.note("a", "session 1", {"x://1"});
    EXPECT_TRUE(links.owns("x://1"));
    EXPECT_EQ(links.server_of("x://1", "session 1"), "a");
    EXPECT_EQ(links.server_of("x://1", "session 2"), "");
    EXPECT_EQ(links.server_of("x://1", ""), "");
    links.note("b", "", {"x://1"});
    EXPECT_EQ(links.server_of("x://1", ""), "b");
    EXPECT_EQ(links.server_of("x://1", "session 1"), "a");
    EXPECT_EQ(links.server_of("x://1", "session 2"), "");
}

// What definitions name stays while they do, and leads nowhere else.
TEST(bridge_links, what_a_definition_names_is_its_server_s) {
    bridge_links links;
    links.note("b", "session 1", {"ui://1"});
    links.define("a", {"ui://1", "ui://2", ""});
    links.define("b", {"ui://2", "ui://3"});
    EXPECT_EQ(links.server_of("ui://1", "session 1"), "a");
    EXPECT_EQ(links.server_of("ui://2", ""), "a");
    EXPECT_EQ(links.server_of("ui://3", ""), "b");
    EXPECT_FALSE(links.owns(""));
    links.define("a", {"ui://4"});
    EXPECT_EQ(links.server_of("ui://1", "session 1"), "b");
    EXPECT_TRUE(links.owns("ui://4"));
    EXPECT_FALSE(links.owns("ui://2"));
    links.forget("a");
    EXPECT_FALSE(links.owns("ui://4"));
    EXPECT_TRUE(links.owns("ui://3"));
}

// A server that names more and more takes no more memory, and no other server's place.
TEST(bridge_links, the_one_named_longest_ago_makes_room) {
    bridge_links links;
    links.note("other", everybody, {"o://"});
    const auto uri = [](std::size_t i) { return "x://" + std::to_string(i); };
    for (std::size_t i = 0; i < bridge_links::links_max; ++i) {
        links.note("a", i % 2 == 0 ? everybody : "session 1", {uri(i)});
    }
    links.note("a", everybody, {uri(0)});  // is young again
    links.note("a", everybody, {"x://new"});
    EXPECT_TRUE(links.owns(uri(0)));
    EXPECT_FALSE(links.owns(uri(1)));
    EXPECT_TRUE(links.owns(uri(2)));
    EXPECT_TRUE(links.owns("x://new"));
    EXPECT_TRUE(links.owns("o://"));
    // All in one result.
    std::vector<std::string> many;
    for (std::size_t i = 0; i < 3 * bridge_links::links_max; ++i) {
        many.push_back("m://" + std::to_string(i));
    }
    links.note("a", everybody, {many.begin(), many.end()});
    EXPECT_TRUE(links.owns(many.back()));
    EXPECT_TRUE(links.owns(many[2 * bridge_links::links_max]));
    EXPECT_FALSE(links.owns(many[2 * bridge_links::links_max - 1]));
    EXPECT_FALSE(links.owns("x://new"));
    EXPECT_TRUE(links.owns("o://"));
}

// The place that one server had for it is free again.
TEST(bridge_links, what_another_names_does_not_count_twice) {
    bridge_links links;
    for (std::size_t i = 0; i < 4 * bridge_links::links_max; ++i) {
        links.note(i % 2 == 0 ? "a" : "b", everybody, {"x://same"});
    }
    EXPECT_EQ(links.server_of("x://same", ""), "b");
    links.note("a", everybody, {"x://1"});
    links.forget("b");
    EXPECT_FALSE(links.owns("x://same"));
    EXPECT_TRUE(links.owns("x://1"));
}

TEST(bridge_links, what_is_no_uri_or_too_long_is_not_kept) {
    bridge_links links;
    const std::string longest(bridge_links::uri_bytes_max, 'x');
    const std::string longer = longest + "x";
    links.note("a", everybody, {"", longest, longer});
    EXPECT_FALSE(links.owns(""));
    EXPECT_TRUE(links.owns(longest));
    EXPECT_FALSE(links.owns(longer));
}

}  // namespace
}  // namespace pillion::sidecar
