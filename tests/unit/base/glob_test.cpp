#include "base/glob.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

TEST(glob, a_star_stays_within_a_segment) {
    EXPECT_TRUE(glob_matches("/users/*", "/users/{id}"));
    EXPECT_FALSE(glob_matches("/users/*", "/users/{id}/keys"));
    EXPECT_TRUE(glob_matches("/users/*/keys", "/users/{id}/keys"));
    EXPECT_TRUE(glob_matches("/users/*", "/users/"));
    EXPECT_FALSE(glob_matches("/users/*", "/users"));
    EXPECT_TRUE(glob_matches("*.md", "a.md"));
    EXPECT_FALSE(glob_matches("*.md", "b/a.md"));
}

TEST(glob, two_stars_cross_segments) {
    EXPECT_TRUE(glob_matches("**", ""));
    EXPECT_TRUE(glob_matches("**", "/a/b"));
    EXPECT_TRUE(glob_matches("/a/**", "/a/b/c"));
    EXPECT_TRUE(glob_matches("/a/**/d", "/a/b/c/d"));
    EXPECT_FALSE(glob_matches("/a/**/d", "/a/b/c/e"));
    EXPECT_TRUE(glob_matches("/a/***", "/a/b/c"));
    EXPECT_TRUE(glob_matches("/a/b**", "/a/bc/d"));
}

TEST(glob, any_number_of_folders) {
    EXPECT_TRUE(glob_matches("**/*.md", "a.md"));
    EXPECT_TRUE(glob_matches("**/*.md", "b/c/a.md"));
    EXPECT_FALSE(glob_matches("**/*.md", "b/c/a.txt"));
    EXPECT_FALSE(glob_matches("**/a.md", "ba.md"));
    EXPECT_TRUE(glob_matches("a/**/d", "a/d"));
    EXPECT_TRUE(glob_matches("a/**/d", "a/b/c/d"));
    EXPECT_FALSE(glob_matches("a/**/d", "ad"));
    EXPECT_FALSE(glob_matches("a/**/d", "a/bd"));
    EXPECT_FALSE(glob_matches("a**/d", "ad"));
    EXPECT_TRUE(glob_matches("**/**/d", "d"));
}

TEST(glob, a_slash_in_a_name_is_like_any_other) {
    EXPECT_TRUE(glob_matches("repos/*", "repos/a/b", glob_of::name));
    EXPECT_TRUE(glob_matches("re*", "repos/a/b", glob_of::name));
    EXPECT_TRUE(glob_matches("a?b", "a/b", glob_of::name));
    EXPECT_FALSE(glob_matches("a/**/b", "a/b", glob_of::name));
    EXPECT_TRUE(glob_matches("a/**/b", "a//b", glob_of::name));
}

TEST(glob, one_character_and_what_is_none) {
    EXPECT_TRUE(glob_matches("a?c", "abc"));
    EXPECT_FALSE(glob_matches("a?c", "a/c"));
    EXPECT_FALSE(glob_matches("a?c", "ac"));
    EXPECT_TRUE(glob_matches("/{a}[b]", "/{a}[b]"));
    EXPECT_FALSE(glob_matches("", "a"));
    EXPECT_TRUE(glob_matches("", ""));
}

// A matcher that goes back would take longer than anybody lives.
TEST(glob, many_stars_take_no_longer) {
    std::string pattern;
    for (int i = 0; i < 100; ++i) {
        pattern += "*a";
    }
    EXPECT_FALSE(glob_matches(pattern + "b", std::string(1000, 'a')));
    EXPECT_TRUE(glob_matches(pattern, std::string(1000, 'a')));
}

}  // namespace
}  // namespace pillion::base
