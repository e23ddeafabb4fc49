// Patterns: what ECMA-262 means by them, by RE2 or without it, and which are refused.
#include "schema/regex.hpp"

#include <gtest/gtest.h>

#include "schema/ecma_pattern.hpp"
#include "schema/plain_pattern.hpp"

namespace pillion::schema_check {
namespace {

struct regex_case {
    const char* pattern;
    const char* good;  // matches; null where it is made by the test
    const char* bad;   // does not
};

// The first with RE2 even where it is not needed.
bool matches(const std::string& pattern, std::string_view text, bool with_re2) {
    std::string fault;
    const auto made = regex::compile(with_re2 ? "(?:" + pattern + ")" : pattern, fault);
    EXPECT_NE(made, nullptr) << pattern << ' ' << fault;
    return made != nullptr && made->matches(text);
}

TEST(regex, means_what_ecma_262_says) {
    const regex_case cases[] = {
        {"^abc$", "abc", "abc\n"},
        {"a+", "xxaayy", "b"},
        {"^a.c$",
         "a\xC3\xA9"
         "c",
         "a\nc"},
        {"^.$", "\xF0\x9F\x90\xB2", "\xE2\x80\xA8"},  // U+2028 ends a line
        {"^\\d\\D$", "1\xDF\x80", "12"},              // U+07C0 is no digit here
        {"^\\w\\W$", "_\xC3\xA9", "__"},
        {"^\\s\\S$",
         "\xEF\xBB\xBF"
         "a",
         "a "},
        {"^[\\s]$", "\xE3\x80\x80", "a"},
        {"^[^\\s]$", "a", "\xC2\xA0"},
        {"^[\\S]$", "a", "\xC2\xA0"},
        {"^[\\D]$", "a", "1"},
        {"^\\t\\n\\v\\f\\r\\0$", nullptr, "x"},
        {"^\\cA\\cj$", "\x01\n", "cA"},
        {"^\\x41\\u0042\\u{43}$", "ABC", "abc"},
        {"^\\uD83D\\uDC32\\u{1F432}$", "\xF0\x9F\x90\xB2\xF0\x9F\x90\xB2", "x"},
        {"^[^]$", "\n", ""},
        {"a[]|b", "b", "a"},
        {"^[a\\-z]$", "-", "b"},
        {"^[-a]$", "-", "b"},
        {"^[a-]$", "-", "b"},
        {"^[\\w-.]$", "-", "+"},
        {"^[\\b]$", "\b", "b"},
        {"\\bfoo\\b", "a foo b", "afoo"},
        {"\\Boo", "foo", "oo"},
        {"^(?:a|b)(c)?(?<n>d)$", "bd", "cd"},
        {"^a{2}b{1,}c{0,1}d??$", "aabbcd", "abcd"},
        {"^a{,2}$", "a{,2}", "aa"},
        {"^{a}$", "{a}", "a"},
        {"^a{3000,}$", "a", ""},
        {"^\\.\\/\\-\\_\\:\\@$", "./-_:@", "x"},
        {"^\\p{L}\\p{Lu}\\P{N}$", "\xC3\xA9\xC3\x89x", "\xC3\xA9\xC3\xA9x"},
        {"^\\p{Letter}\\p{Uppercase_Letter}\\p{digit}$", "aA\xE0\xA7\xAA", "aaa"},
        {"^\\p{Script=Greek}\\p{sc=Cyrl}\\p{gc=Sc}$", "\xCE\xB1\xD0\xB6\xE2\x82\xAC", "abc"},
        {"^[\\p{Lu}\\d]+$", "A1\xC3\x89", "a"},
        {"^[^\\p{Lu}\\d]+$", "ab", "A"},
        {"^\\p{LC}\\p{Any}\\p{ASCII}\\p{AHex}$", "a\nzF", "1aaa"},
        {"^$", "", "a"},
        {"", "a", nullptr},
        {"\xC3\xA9+", "caf\xC3\xA9", "cafe"},
    };
    for (const regex_case& c : cases) {
        for (const bool with_re2 : {false, true}) {
            const std::string pattern = c.pattern;
            // Three thousand are more than RE2 counts at once; that many are made here.
            const bool many = pattern == "^a{3000,}$";
            const std::string good = many                        ? std::string(3000, 'a')
                                     : pattern.ends_with("\\0$") ? std::string("\t\n\v\f\r\0", 6)
                                                                 : std::string(c.good);
            EXPECT_TRUE(matches(pattern, good, with_re2)) << pattern;
            const std::string bad = many ? std::string(2999, 'a') : c.bad == nullptr ? "" : c.bad;
            EXPECT_TRUE(c.bad == nullptr || !matches(pattern, bad, with_re2)) << pattern;
        }
    }
}

TEST(regex, what_cannot_be_matched_is_refused) {
    const std::pair<const char*, const char*> cases[] = {
        {"a(?=b)", "uses look-around, which RE2 does not have"},
        {"a(?!b)", "uses look-around, which RE2 does not have"},
        {"(?<=a)b", "uses look-around, which RE2 does not have"},
        {"(?<!a)b", "uses look-around, which RE2 does not have"},
        {"(a)\\1", "uses a back-reference, which RE2 does not have"},
        {"(?<n>a)\\k<n>", "uses a back-reference, which RE2 does not have"},
        {"\\p{Emoji}", "uses a Unicode property that RE2 does not have"},
        {"\\P{LC}", "uses a Unicode property that RE2 does not have"},
        {"\\p{scx=Greek}", "uses a Unicode property that RE2 does not have"},
        {"(a", "has a group without an end"},
        {"a)", "has a bracket that closes nothing"},
        {"[a", "has a class without an end"},
        {"[b-a]", "has a range out of order"},
        {"*a", "repeats nothing"},
        {"a**", "repeats nothing"},
        {"^*", "repeats nothing"},
        {"a{2,1}", "repeats with its counts out of order"},
        {"a\\", "ends in a backslash"},
        {"\\a", "has an escape that ECMA-262 does not know"},
        {"\\Z", "has an escape that ECMA-262 does not know"},
        {"\\01", "has an escape that ECMA-262 does not know"},
        {"\\xG1", "has a malformed hexadecimal escape"},
        {"\\u{110000}", "has a malformed hexadecimal escape"},
        {"\\uD83D\\u0041", "has half a surrogate pair"},
        {"\\p{}", "has a malformed property"},
        {"\\pL", "has a malformed property"},
        {"(?i)a", "has a group of an unknown kind"},
        {"(?P<n>a)", "has a group of an unknown kind"},
        {"(?<>a)", "has a malformed group name"},
        {"(a{1000}){1000}", "repeats too much"},
        {"(abc){99999999}", "repeats too much"},
    };
    for (const auto& [pattern, why] : cases) {
        std::string fault;
        EXPECT_EQ(regex::compile(pattern, fault), nullptr) << pattern;
        EXPECT_EQ(fault, why) << pattern;
    }
    std::string fault;
    EXPECT_EQ(regex::compile("\\p{Script=Nowhere}", fault), nullptr);
    EXPECT_TRUE(fault.starts_with("has no RE2 form")) << fault;
}

TEST(regex, well_formed_is_more_than_matchable) {
    for (const char* good :
         {"a(?=b)", "(?<=a+)b", "(a)\\1", "(?<n>a)\\k<n>", "[]", "[^]", "\\cA"}) {
        EXPECT_TRUE(is_ecma_pattern(good)) << good;
    }
    for (const char* bad : {"(a", "(?=a", "\\a", "(?<=a)*", "(?#a)", "\\k<"}) {
        EXPECT_FALSE(is_ecma_pattern(bad)) << bad;
    }
}

TEST(regex, usual_patterns_need_no_re2) {
    const auto is_plain = [](const char* pattern) {
        translation spelt;
        std::string fault;
        EXPECT_TRUE(translate_pattern(pattern, spelt, fault)) << pattern;
        return plain_pattern::make(spelt).has_value();
    };
    for (const char* plain :
         {"^[a-z][a-z0-9-]{0,62}$", "^x-", "^\\d{4}-\\d{2}-\\d{2}$", "^.{1,9}$", "^[^/]+/[^/]+$",
          "^a?b*c+$", "\\S", "[A-Z]{3}", "^$", "^v?\\d+\\.\\d+"}) {
        EXPECT_TRUE(is_plain(plain)) << plain;
    }
    for (const char* other : {"^a*ab$", "a|b", "^(ab)+$", "b$", "ab", "^\\p{L}$", "\\bx",
                              "^a{1,2}a", "^[a-z]*-?[a-z]$"}) {
        EXPECT_FALSE(is_plain(other)) << other;
    }
}

}  // namespace
}  // namespace pillion::schema_check
