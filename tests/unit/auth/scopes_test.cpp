#include "auth/scopes.hpp"

#include <gtest/gtest.h>

namespace pillion::auth {

namespace {

TEST(scopes, a_scope_covers_itself) {
    EXPECT_TRUE(covers("a", "a"));
    EXPECT_TRUE(covers("a b c", "b"));
    EXPECT_TRUE(covers("a b c", "c"));
    EXPECT_TRUE(covers(" a  b ", "b"));
    for (const char* const granted : {"", " ", "a", "ab", "b:", "xb b:c", "B", "*", "**"}) {
        EXPECT_FALSE(covers(granted, "b")) << granted;
    }
}

TEST(scopes, one_that_says_so_covers_what_begins_like_it) {
    EXPECT_TRUE(covers("x files:*", "files:read"));
    EXPECT_TRUE(covers("files:*", "files:a:b"));
    EXPECT_TRUE(covers("files:*", "files:*"));
    EXPECT_TRUE(covers("files:read:*", "files:read:all"));
    for (const char* const granted :
         {"files", "files:", "files*", "files:r*", "file:*", "files:read:*", ":*", "*:*"}) {
        EXPECT_FALSE(covers(granted, "files:read")) << granted;
    }
    EXPECT_FALSE(covers("files:*", "files:"));
    EXPECT_FALSE(covers("files:*", "files"));
}

TEST(scopes, all_that_are_needed) {
    EXPECT_TRUE(covers("", scope_list{}));
    EXPECT_TRUE(covers("a b", scope_list{"b", "a"}));
    EXPECT_FALSE(covers("a b", scope_list{"b", "c"}));
}

TEST(scopes, what_a_scope_is) {
    for (const char* const good : {"a", "files:read", "https://x.example/a", "*", "~!#[]"}) {
        EXPECT_TRUE(is_scope(good)) << good;
    }
    for (const char* const bad : {"", " ", "a b", "a\"", "a\\", "\t", "\x7f", "\xc3\xa9"}) {
        EXPECT_FALSE(is_scope(bad)) << bad;
    }
    EXPECT_TRUE(is_scope(std::string(scope_bytes_max, 'a')));
    EXPECT_FALSE(is_scope(std::string(scope_bytes_max + 1, 'a')));
}

TEST(scopes, lists_and_texts) {
    EXPECT_EQ(joined({}), "");
    EXPECT_EQ(joined({"a", "b"}), "a b");
    scope_list all{"a"};
    add_scopes(all, {"b", "a", "b"});
    EXPECT_EQ(all, (scope_list{"a", "b"}));
}

}  // namespace

}  // namespace pillion::auth
