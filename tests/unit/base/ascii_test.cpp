// Goal: character classes and list helpers follow RFC 9110 for every byte value.

#include "base/ascii.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

TEST(ascii, token_characters_are_those_of_rfc_9110) {
    const std::string_view tokens =
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int i = 0; i < 256; ++i) {
        const char c = static_cast<char>(i);
        EXPECT_EQ(is_token_char(c), i != 0 && tokens.find(c) != std::string_view::npos) << i;
        if (is_token_char(c)) {
            EXPECT_EQ(token_lower[static_cast<unsigned char>(c)], to_lower(c)) << i;
        }
    }
}

TEST(ascii, controls_are_all_but_tab_and_high_bytes) {
    for (int i = 0; i < 256; ++i) {
        EXPECT_EQ(is_control(static_cast<char>(i)), (i < 32 && i != 9) || i == 127) << i;
    }
}

TEST(ascii, lower_case_touches_letters_only) {
    for (int i = 0; i < 256; ++i) {
        const int want = i >= 'A' && i <= 'Z' ? i + 32 : i;
        EXPECT_EQ(static_cast<unsigned char>(to_lower(static_cast<char>(i))), want);
    }
}

TEST(ascii, hex_digits) {
    EXPECT_EQ(hex_digit('0'), 0);
    EXPECT_EQ(hex_digit('9'), 9);
    EXPECT_EQ(hex_digit('a'), 10);
    EXPECT_EQ(hex_digit('F'), 15);
    for (const char c : {'g', 'G', '/', ':', '@', '`', ' ', '\0', '\xE1'}) {
        EXPECT_EQ(hex_digit(c), -1);
    }
}

TEST(ascii, tokens_and_field_values) {
    EXPECT_TRUE(is_token("a-b"));
    EXPECT_FALSE(is_token(""));
    EXPECT_FALSE(is_token("a b"));
    EXPECT_TRUE(is_field_value(""));
    EXPECT_TRUE(is_field_value("a\tb \xFF"));
    EXPECT_FALSE(is_field_value("a\rb"));
    EXPECT_FALSE(is_field_value(std::string_view("a\0b", 3)));
}

// Every byte at every place of values around the eight bytes that are looked at together.
TEST(ascii, field_values_are_judged_by_each_of_their_bytes) {
    for (std::size_t size = 1; size <= 25; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            for (int byte = 0; byte < 256; ++byte) {
                for (const char filler : {'x', '\t', ' ', '~', '\xFF'}) {
                    std::string text(size, filler);
                    text[at] = static_cast<char>(byte);
                    const bool control = (byte < 0x20 && byte != '\t') || byte == 0x7F;
                    const bool ascii = byte < 0x80 && (filler != '\xFF' || size == 1);
                    ASSERT_EQ(is_field_value(text), !control) << size << " " << at << " " << byte;
                    ASSERT_EQ(is_ascii(text), ascii) << size << " " << at << " " << byte;
                }
            }
        }
    }
    EXPECT_TRUE(is_ascii(""));
}

TEST(ascii, equality_ignores_case_of_letters_only) {
    EXPECT_TRUE(equals_ignore_case("Content-LENGTH", "content-length"));
    EXPECT_FALSE(equals_ignore_case("a", "ab"));
    EXPECT_FALSE(equals_ignore_case("[", "{"));
    EXPECT_FALSE(equals_ignore_case("@", "`"));
    EXPECT_TRUE(equals_ignore_case("", ""));
}

TEST(ascii, trim_removes_space_and_tab) {
    EXPECT_EQ(trim_ows(" \t a b\t "), "a b");
    EXPECT_EQ(trim_ows(" \t "), "");
    EXPECT_EQ(trim_ows("\va\v"), "\va\v");
}

TEST(ascii, list_elements) {
    std::string_view list = " a , b,,c ";
    EXPECT_EQ(next_list_element(list), "a");
    EXPECT_EQ(next_list_element(list), "b");
    EXPECT_EQ(next_list_element(list), "");
    EXPECT_EQ(next_list_element(list), "c");
    EXPECT_TRUE(list.empty());
    EXPECT_TRUE(list_has_token("keep-alive, Close", "close"));
    EXPECT_FALSE(list_has_token("closed, not-close", "close"));
    EXPECT_FALSE(list_has_token("", "close"));
}

TEST(ascii, decimal_numbers_stay_within_64_bits) {
    std::uint64_t value = 7;
    EXPECT_TRUE(parse_decimal("18446744073709551615", value));
    EXPECT_EQ(value, UINT64_MAX);
    EXPECT_TRUE(parse_decimal("000000000000000000000000012", value));
    EXPECT_EQ(value, 12U);
    for (const char* bad : {"", "18446744073709551616", "99999999999999999999", "-1", "+1", " 1",
                            "1 ", "0x1", "1.0"}) {
        EXPECT_FALSE(parse_decimal(bad, value)) << bad;
        EXPECT_EQ(value, 12U);
    }
}

}  // namespace
}  // namespace pillion::base
