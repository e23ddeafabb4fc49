// The parser on every kind of vectors: the same verdict, the same values and the same place of an
// error, whatever the alignment, the length, the cut and the padding.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "samples.hpp"

namespace pillion::json {
namespace {

using test::judgement;
using test::variants;

// Parses [0, size) of `all` on one path; what lies behind is the padding. `shift` moves the text in
// its block.
judgement judged(std::string_view all, std::size_t size, scan_variant v, std::size_t shift = 0,
                 const parse_limits& bounds = {}) {
    base::chunk_pool pool;
    base::arena memory(pool);
    // A block of its exact size, so that the address sanitizer sees every read too far.
    const std::unique_ptr<char[]> block(new char[shift + size + limits::padding]);
    std::memset(block.get(), '"', shift + size + limits::padding);
    all.copy(block.get() + shift, size + limits::padding);
    const parse_result r = parse(block.get() + shift, size, memory, bounds, v);
    return {r.error.kind, r.error.offset, r.ok ? test::written(r.root) : std::string()};
}

void expect_same(std::string_view all, std::size_t size, std::size_t shift = 0) {
    const judgement first = judged(all, size, scan_variant::portable, shift);
    for (const scan_variant v : variants()) {
        ASSERT_EQ(judged(all, size, v, shift), first)
            << "variant " << static_cast<int>(v) << ", " << size << " bytes of " << all;
    }
}

TEST(json_variants, strings_of_every_length_at_every_alignment) {
    for (std::size_t size = 0; size <= 200; ++size) {
        for (std::size_t shift = 0; shift < 64; shift += size % 8 == 0 ? 1 : 13) {
            const std::string text = "{\"" + std::string(size, 'k') + "\":\"" +
                                     std::string(size, 'v') + "\",\"n\":[" +
                                     std::to_string(size * 1'000'003) + "]}";
            expect_same(text, text.size(), shift);
        }
    }
}

TEST(json_variants, every_odd_byte_at_every_place_of_a_string) {
    const std::string_view pieces[] = {
        "\\n",  "\\u00e9", "\\ud83d\\ude00", "\xC3\xA9", "\xE2\x82\xAC",
        "\\",   "\\u12",   "\\ud800",        "\xC3",     "\xF0\x9F",
        "\x1F", "\"",      "\xED\xA0\x80",   "\xFF",     "\\q"};
    for (std::size_t size = 0; size <= 200; size += size < 70 ? 1 : 13) {
        for (const std::string_view piece : pieces) {
            for (const std::size_t tail : {std::size_t{0}, std::size_t{1}, size}) {
                const std::string text = "[\"" + std::string(size, 'a') + std::string(piece) +
                                         std::string(tail, 'b') + std::string(piece) + "\",1]";
                expect_same(text, text.size(), size % 64);
            }
        }
    }
}

// The rest of the document behind the cut looks like more input, which must not be taken for any.
TEST(json_variants, every_cut_of_a_document_with_its_rest_behind_it) {
    for (const std::string_view sample : test::samples) {
        const std::string padded = std::string(sample) + std::string(limits::padding, ']');
        for (std::size_t size = 0; size <= sample.size(); ++size) {
            const judgement cut = judged(sample.substr(0, size), size, scan_variant::portable);
            for (const scan_variant v : variants()) {
                ASSERT_EQ(judged(padded, size, v), cut)
                    << "variant " << static_cast<int>(v) << ": " << sample.substr(0, size);
            }
        }
    }
}

// Two bytes of a repeated pattern can open and close things behind the end, which a single one
// cannot: the parser reads its padding as input and must find that out.
TEST(json_variants, tokens_in_the_padding_are_not_taken) {
    const std::string_view texts[] = {"[", "[1",  "[1,", "{",  "{\"a\"", "{\"a\":", "\"a", "-",
                                      "1", "1.",  "tru", "[[", "{\"a",   "[\"a\"",  "[\"", "",
                                      " ", "[{}", "[1 ", "1e", "\"\\",   "\"\\u00", "[-0", "null"};
    const std::string_view patterns[] = {
        "1,", "[]", "{}", "\"\"", "\":",  "\",",   "]}",       "}]",    ",\"a\":", " ", "1",
        "0.", "e5", "-",  "true", "\\\"", "\\u00", "\xC3\xA9", ":1,\"", "[[[[",    "}}"};
    for (const std::string_view text : texts) {
        const judgement alone = judged(text, text.size(), scan_variant::portable);
        for (const std::string_view pattern : patterns) {
            std::string all(text);
            while (all.size() < text.size() + limits::padding) {
                all += pattern;
            }
            for (const scan_variant v : variants()) {
                ASSERT_EQ(judged(all, text.size(), v), alone) << text << " before " << pattern;
            }
        }
    }
}

TEST(json_variants, limits_hold_on_every_path) {
    for (const scan_variant v : variants()) {
        const judgement deep = judged("[[[1]]]", 7, v, 0, {.depth_max = 2});
        EXPECT_EQ(deep.error, parse_error::code::depth);
        EXPECT_EQ(deep.offset, 2U);
        const judgement many = judged("[1,\"a\",null]", 12, v, 0, {.nodes_max = 3});
        EXPECT_EQ(many.error, parse_error::code::nodes);
        EXPECT_EQ(many.offset, 7U);
    }
}

// Separators within strings only make the bound larger.
TEST(json_variants, the_room_for_nodes_is_enough_for_every_document) {
    std::string text = "[";
    for (int i = 0; i < 700; ++i) {
        text += i == 0 ? "" : ",";
        text += i % 3 == 0 ? R"({"a,b":[",",{}],"":[[]]})" : (i % 3 == 1 ? "0" : "\"[{:,\"");
    }
    text += "]";
    const judgement first = judged(text, text.size(), scan_variant::portable);
    EXPECT_EQ(first.written, text);
    expect_same(text, text.size());
}

}  // namespace
}  // namespace pillion::json
