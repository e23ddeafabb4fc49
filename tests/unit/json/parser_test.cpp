#include "json/parser.hpp"

#include <string>

#include <gtest/gtest.h>

#include "samples.hpp"

namespace pillion::json {
namespace {

using code = parse_error::code;
using test::padded;

parse_error error_of(std::string_view text, const parse_limits& bounds = {}) {
    parse_error seen;
    // Whatever lies in the padding must not matter.
    for (const char filler : {'"', '\0', '0', ']', ' ', '\xA9'}) {
        padded input(text, filler);
        const parse_result r = input.parse(bounds);
        EXPECT_FALSE(r.ok) << text;
        EXPECT_FALSE(r.root.exists());
        if (filler != '"') {
            EXPECT_EQ(r.error.kind, seen.kind) << text << " with padding " << filler;
            EXPECT_EQ(r.error.offset, seen.offset) << text << " with padding " << filler;
        }
        seen = r.error;
    }
    EXPECT_NE(seen.text[0], '\0');
    return seen;
}

void expect_error(std::string_view text, code kind, std::size_t offset) {
    const parse_error e = error_of(text);
    EXPECT_EQ(e.kind, kind) << text << ": " << e.text;
    EXPECT_EQ(e.offset, offset) << text;
}

std::string decoded(std::string_view text) {
    padded input(text);
    const parse_result r = input.parse();
    EXPECT_TRUE(r.ok) << text << ": " << r.error.text << " at " << r.error.offset;
    EXPECT_TRUE(r.root.is_string());
    return std::string(r.root.str("not a string"));
}

TEST(json_parser, every_truncation_of_a_document_ends_unexpectedly_at_its_end) {
    for (const std::string_view sample : test::samples) {
        const std::string_view text = sample.substr(0, sample.find_last_of("]}\"") + 1);
        for (std::size_t size = 0; size < text.size(); ++size) {
            const parse_error e = error_of(text.substr(0, size));
            // Cut within a UTF-8 sequence the text is invalid where the sequence starts.
            if (e.kind == code::bad_utf8) {
                EXPECT_LT(e.offset, size);
                EXPECT_GE(e.offset + 3, size);
            } else {
                EXPECT_EQ(e.kind, code::unexpected_end) << text.substr(0, size);
                EXPECT_EQ(e.offset, size);
            }
        }
    }
}

TEST(json_parser, accepts_the_samples_with_any_padding) {
    for (const std::string_view text : test::samples) {
        for (int filler = 0; filler < 256; ++filler) {
            padded input(text, static_cast<char>(filler));
            EXPECT_TRUE(input.parse().ok) << text;
        }
    }
}

TEST(json_parser, never_writes_into_the_padding) {
    for (const std::string_view text : test::samples) {
        padded input(text, '\x5A');
        ASSERT_TRUE(input.parse().ok);
        for (std::size_t i = 0; i < limits::padding; ++i) {
            EXPECT_EQ(input.data()[text.size() + i], '\x5A');
        }
    }
}

TEST(json_parser, reports_kind_and_offset) {
    expect_error("", code::unexpected_end, 0);
    expect_error("  ", code::unexpected_end, 2);
    expect_error("\xEF\xBB\xBF{}", code::byte_order_mark, 0);
    expect_error("\xEF\xBB\xBF", code::byte_order_mark, 0);
    expect_error("{} x", code::trailing_bytes, 3);
    expect_error("1 2", code::trailing_bytes, 2);
    expect_error(std::string_view("1\0", 2), code::trailing_bytes, 1);
    expect_error("[1,]", code::unexpected_byte, 3);
    expect_error("[,1]", code::unexpected_byte, 1);
    expect_error("[1 2]", code::unexpected_byte, 3);
    expect_error("[1}", code::unexpected_byte, 2);
    expect_error("{\"a\":1]", code::unexpected_byte, 6);
    expect_error("{\"a\":1,}", code::unexpected_byte, 7);
    expect_error("{\"a\" 1}", code::unexpected_byte, 5);
    expect_error("{1:1}", code::unexpected_byte, 1);
    expect_error("{'a':1}", code::unexpected_byte, 1);
    expect_error("nul]", code::bad_literal, 0);
    expect_error("[True]", code::unexpected_byte, 1);
    expect_error("[trUe]", code::bad_literal, 1);
    expect_error("\"a\nb\"", code::control_character, 2);
    expect_error(std::string_view("\"a\0b\"", 5), code::control_character, 2);
    expect_error("\"\\x\"", code::bad_escape, 1);
    expect_error("\"\\u12g4\"", code::bad_escape, 1);
    expect_error("[\"\xFF\"]", code::bad_utf8, 2);
    expect_error("\xFF", code::unexpected_byte, 0);
    expect_error("/**/1", code::unexpected_byte, 0);
}

TEST(json_parser, refuses_malformed_numbers) {
    expect_error("-", code::unexpected_end, 1);
    expect_error("[-]", code::bad_number, 2);
    expect_error("[-a]", code::bad_number, 2);
    expect_error("[01]", code::bad_number, 2);
    expect_error("[-00]", code::bad_number, 3);
    expect_error("[1.]", code::bad_number, 3);
    expect_error("[.5]", code::unexpected_byte, 1);
    expect_error("[1.e5]", code::bad_number, 3);
    expect_error("[1e]", code::bad_number, 3);
    expect_error("[1e+]", code::bad_number, 4);
    expect_error("[+1]", code::unexpected_byte, 1);
    expect_error("[1x]", code::unexpected_byte, 2);
    expect_error("[NaN]", code::unexpected_byte, 1);
    expect_error("[Infinity]", code::unexpected_byte, 1);
}

TEST(json_parser, decodes_every_escape) {
    EXPECT_EQ(decoded(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
    EXPECT_EQ(decoded(R"("\u0041\u00e9\u20AC\uFFFF")"), "A\xC3\xA9\xE2\x82\xAC\xEF\xBF\xBF");
    EXPECT_EQ(decoded(R"("\ud83d\ude00\uDBFF\uDFFF")"), "\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF");
    EXPECT_EQ(decoded(R"("a\u0000b")"), std::string("a\0b", 3));
}

TEST(json_parser, every_code_unit_escape_decodes_or_is_a_lone_surrogate) {
    for (unsigned unit = 0; unit < 0x10000; ++unit) {
        char text[16];
        std::snprintf(text, sizeof(text), "\"\\u%04x\"", unit);
        padded input(text);
        const parse_result r = input.parse();
        const bool surrogate = unit >= 0xD800 && unit <= 0xDFFF;
        ASSERT_EQ(r.ok, !surrogate) << text;
        if (surrogate) {
            ASSERT_EQ(r.error.kind, code::lone_surrogate);
            ASSERT_EQ(r.error.offset, 1U);
        } else {
            char expected[4];
            ASSERT_EQ(r.root.str(), std::string_view(expected, base::utf8::encode(unit, expected)));
        }
    }
}

TEST(json_parser, refuses_surrogates_without_partner) {
    expect_error(R"("\ud800")", code::lone_surrogate, 1);
    expect_error(R"("x\udc00")", code::lone_surrogate, 2);
    expect_error(R"("\ud800\n")", code::lone_surrogate, 1);
    expect_error(R"("\ud800\ud800")", code::lone_surrogate, 1);
    expect_error(R"("\ud800\u0041")", code::lone_surrogate, 1);
    expect_error(R"("\ud800A")", code::lone_surrogate, 1);
}

TEST(json_parser, escapes_decode_at_every_alignment) {
    for (std::size_t before = 0; before < 64; ++before) {
        for (std::size_t after = 0; after < 64; after += 7) {
            const std::string a(before, 'a');
            const std::string b(after, 'b');
            EXPECT_EQ(decoded('"' + a + "\\n" + b + "\\ud83d\\ude00" + a + '"'),
                      a + "\n" + b + "\xF0\x9F\x98\x80" + a);
            EXPECT_EQ(decoded('"' + a + "\xC3\xA9" + b + "\\t\"").size(), before + after + 3);
        }
    }
}

TEST(json_parser, faults_in_strings_are_found_at_every_alignment) {
    for (std::size_t before = 0; before < 130; ++before) {
        const std::string head = '"' + std::string(before, 'a');
        expect_error(head + "\x1F\"", code::control_character, before + 1);
        expect_error(head + "\xC0\xAF\"", code::bad_utf8, before + 1);
        expect_error(head + "\xE2\x82\"", code::bad_utf8, before + 1);
        expect_error(head + "\\q\"", code::bad_escape, before + 1);
        expect_error(head, code::unexpected_end, before + 1);
        expect_error(head + '\\', code::unexpected_end, before + 2);
    }
}

TEST(json_parser, utf8_boundaries) {
    for (const char* good :
         {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
          "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
        EXPECT_EQ(decoded('"' + std::string(good) + '"'), good);
    }
    for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                            "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80",
                            "\xFE", "\xFF", "\xC2", "\xE2\x82", "\xF0\x9F\x98"}) {
        expect_error('"' + std::string(bad) + '"', code::bad_utf8, 1);
    }
}

TEST(json_parser, depth_limit_counts_open_containers) {
    const std::size_t max = limits::json_depth_max;
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    EXPECT_TRUE(padded(nested(max)).parse().ok);
    expect_error(nested(max + 1), code::depth, max);
    expect_error(std::string(100'000, '['), code::depth, max);
    EXPECT_TRUE(padded("[[],{}]").parse({.depth_max = 2}).ok);
    EXPECT_EQ(error_of("[[],{\"a\":[]}]", {.depth_max = 2}).kind, code::depth);
    EXPECT_EQ(error_of("[]", {.depth_max = 0}).kind, code::depth);
    EXPECT_TRUE(padded("1").parse({.depth_max = 0}).ok);
}

TEST(json_parser, node_limit_counts_values_and_keys) {
    EXPECT_TRUE(padded("[1,2]").parse({.nodes_max = 3}).ok);
    const parse_error e = error_of("[1,2]", {.nodes_max = 2});
    EXPECT_EQ(e.kind, code::nodes);
    EXPECT_EQ(e.offset, 3U);
    EXPECT_EQ(error_of("{\"a\":1}", {.nodes_max = 2}).kind, code::nodes);
    EXPECT_EQ(error_of("{\"a\":1}", {.nodes_max = 1}).offset, 1U);
    EXPECT_EQ(error_of("1", {.nodes_max = 0}).kind, code::nodes);
    std::string many = "[0";
    for (std::size_t i = 2; i < limits::json_nodes_max; ++i) {
        many += ",0";
    }
    EXPECT_TRUE(padded(many + "]").parse().ok);
    EXPECT_EQ(error_of(many + ",0]").kind, code::nodes);
}

TEST(json_parser, every_node_count_survives_the_growth_of_the_node_array) {
    std::string text = "[";
    for (std::size_t size = 1; size < 2000; ++size) {
        text += (size == 1 ? "" : ",") + std::to_string(size);
        padded input(text + "]");
        const parse_result r = input.parse();
        ASSERT_TRUE(r.ok);
        ASSERT_EQ(r.root.size(), size);
        ASSERT_EQ(r.root[size - 1].i64(), static_cast<std::int64_t>(size));
    }
}

TEST(json_parser, unused_nodes_go_back_to_the_arena) {
    base::chunk_pool pool;
    base::arena memory(pool);
    std::string text = "[1,2,3]" + std::string(limits::padding, ' ');
    const auto* before = static_cast<char*>(memory.allocate(16, 16));
    ASSERT_TRUE(parse(text.data(), 7, memory).ok);
    const auto* after = static_cast<char*>(memory.allocate(16, 16));
    EXPECT_EQ(after - before, 16 + 4 * 16);
    // Large documents take blocks of their own; the arena must stay usable behind them.
    std::string large = "[0";
    for (int i = 0; i < 50'000; ++i) {
        large += ",0";
    }
    large += "]";
    const std::size_t size = large.size();
    large.append(limits::padding, ' ');
    const parse_result r = parse(large.data(), size, memory);
    ASSERT_TRUE(r.ok);
    for (int i = 0; i < 1000; ++i) {
        std::memset(memory.allocate(100), 0x11, 100);
    }
    EXPECT_EQ(r.root.size(), 50'001U);
    EXPECT_EQ(r.root[50'000].number_text(), "0");
}

TEST(json_parser, white_space_of_every_length_between_tokens) {
    for (std::size_t size = 0; size < 70; ++size) {
        std::string space;
        for (std::size_t i = 0; i < size; ++i) {
            space += " \n\r\t"[i % 4];
        }
        const std::string text = space + "{" + space + "\"a\"" + space + ":" + space + "[" + space +
                                 "1" + space + "," + space + "2" + space + "]" + space + "}" +
                                 space;
        padded input(text, ' ');
        const parse_result r = input.parse();
        ASSERT_TRUE(r.ok) << size;
        EXPECT_EQ(test::written(r.root), R"({"a":[1,2]})");
        expect_error(text + "\v", code::trailing_bytes, text.size());
    }
}

}  // namespace
}  // namespace pillion::json
