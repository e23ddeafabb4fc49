// path: what counts as a path, the order of a walk, and the URI codec on every byte.
#include "files/path.hpp"

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/utf8.hpp"

namespace pillion::files {
namespace {

TEST(path, accepts_relative_paths_only) {
    for (const std::string_view good :
         {"", "a", "a/b", ".hidden", "a/..b/c..", "...", "a b/\xC3\xA9"}) {
        EXPECT_TRUE(valid_path(good)) << good;
    }
    for (const std::string_view bad : {"/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b",
                                       "a/../b", "./a", "\xFF", "a/\xC3"}) {
        EXPECT_FALSE(valid_path(bad)) << bad;
    }
    EXPECT_FALSE(valid_path(std::string_view("a\0b", 3)));
    EXPECT_TRUE(valid_path(std::string(name_bytes_max, 'n')));
    EXPECT_FALSE(valid_path(std::string(name_bytes_max + 1, 'n')));
    std::string deep;
    while (deep.size() < path_bytes_max) {
        deep += "x/";
    }
    EXPECT_FALSE(valid_path(deep + "x"));
}

TEST(path, hidden_is_any_component_with_a_dot_in_front) {
    EXPECT_TRUE(hidden_path(".git"));
    EXPECT_TRUE(hidden_path("a/.git/config"));
    EXPECT_FALSE(hidden_path("a.b/c."));
    EXPECT_FALSE(hidden_path(""));
}

TEST(path, join_name_and_within) {
    EXPECT_EQ(join("", "a"), "a");
    EXPECT_EQ(join("a/b", "c"), "a/b/c");
    EXPECT_EQ(name_of("a/b/c"), "c");
    EXPECT_EQ(name_of("c"), "c");
    EXPECT_TRUE(is_within("a/b", ""));
    EXPECT_TRUE(is_within("a/b", "a"));
    EXPECT_TRUE(is_within("a", "a"));
    EXPECT_FALSE(is_within("ab", "a"));
    EXPECT_FALSE(is_within("a", "a/b"));
}

TEST(path, order_is_depth_first_by_bytes) {
    const std::vector<std::string> sorted = {"",     "A",   "a",     "a/b", "a/b/c", "a/b.c",
                                             "a/b0", "a b", "a.txt", "a0",  "b",     "\xC3\xA9"};
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        for (std::size_t j = 0; j < sorted.size(); ++j) {
            const int order = compare_paths(sorted[i], sorted[j]);
            EXPECT_EQ(order < 0, i < j) << sorted[i] << " | " << sorted[j];
            EXPECT_EQ(order == 0, i == j) << sorted[i] << " | " << sorted[j];
        }
    }
}

TEST(path, codec_round_trips_every_pair_of_bytes) {
    for (int first = 0; first < 256; ++first) {
        for (int second = 0; second < 256; ++second) {
            std::string path = {'x', static_cast<char>(first), static_cast<char>(second), 'y'};
            const std::string text = encode_path(path);
            EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
                return std::string_view(
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                           "0123456789-._~/%")
                           .find(c) != std::string_view::npos;
            }));
            const auto back = decode_path(text);
            ASSERT_EQ(back.has_value(), valid_path(path)) << first << ' ' << second;
            if (back) {
                EXPECT_EQ(*back, path);
            }
        }
    }
    EXPECT_EQ(encode_path("a b/\xC3\xA9%"), "a%20b/%C3%A9%25");
}

TEST(path, decodes_every_escape_in_both_cases) {
    constexpr char upper[] = "0123456789ABCDEF";
    constexpr char lower[] = "0123456789abcdef";
    for (unsigned byte = 0; byte < 256; ++byte) {
        for (const char* digits : {upper, lower}) {
            const std::string text = {'a', '%', digits[byte >> 4], digits[byte & 15], 'b'};
            const auto path = decode_path(text);
            const bool good = byte != 0 && byte != '/' && byte < 0x80;
            ASSERT_EQ(path.has_value(), good) << text;
            if (path) {
                EXPECT_EQ(*path, std::string({'a', static_cast<char>(byte), 'b'}));
            }
        }
    }
}

TEST(path, refuses_every_malformed_escape) {
    EXPECT_FALSE(decode_path("%"));
    EXPECT_FALSE(decode_path("a%4"));
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        const bool hex =
            std::string_view("0123456789abcdefABCDEF").find(c) != std::string_view::npos;
        EXPECT_EQ(decode_path(std::string{'%', '6', c}).has_value(), hex) << byte;
        EXPECT_EQ(decode_path(std::string{'%', c, '1'}).has_value(),
                  hex && c != '0' ? byte < '8' : hex)
            << byte;
    }
}

TEST(path, values_are_escaped_where_they_look_escaped) {
    const std::string parts[] = {"%", "2", "5", "a", "F", "g", "/"};
    std::vector<std::string> all{""};
    for (std::size_t i = 0; i < all.size() && all[i].size() < 5; ++i) {
        for (const std::string& part : parts) {
            all.push_back(all[i] + part);
        }
    }
    const std::regex escape("%[0-9a-fA-F]{2}");
    for (const std::string& one : all) {
        const std::string value = escape_value(one);
        EXPECT_EQ(value == one, !std::regex_search(one, escape)) << one;
        EXPECT_EQ(unescape_value(value), one);
        for (std::size_t size = 0; size <= value.size(); ++size) {
            const std::string begun = value.substr(0, size);
            if (!begun.ends_with("%2")) {  // which may be the middle of an escape
                EXPECT_TRUE(one.starts_with(unescape_value(begun))) << begun << ' ' << one;
            }
        }
    }
}

TEST(path, decoding_cannot_leave_the_root) {
    for (const std::string_view bad : {"%2e%2e/a", "..%2fa", "a/%2E%2E", "%2Fetc/passwd", "a%00b",
                                       "/etc/passwd", "a%2F..%2Fb", "%C0%AE%C0%AE/a"}) {
        EXPECT_FALSE(decode_path(bad)) << bad;
    }
    EXPECT_EQ(decode_path("a#b?c"), "a#b?c");
    EXPECT_EQ(decode_path(""), "");
}

}  // namespace
}  // namespace pillion::files
