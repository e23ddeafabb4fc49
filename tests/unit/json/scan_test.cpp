// All implementations of the scans against a byte-by-byte reference.
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json/escape.hpp"
#include "json/string_scan.hpp"
#include "json/swar.hpp"
#include "samples.hpp"

namespace pillion::json {
namespace {

using test::variants;

bool special(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }
bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Text at a chosen alignment, padding of a chosen byte behind it.
struct block {
    block(std::string_view text, std::size_t align, char filler)
        : bytes(new char[align + text.size() + scan_padding]), at(bytes.get() + align) {
        std::memset(bytes.get(), filler, align + text.size() + scan_padding);
        if (!text.empty()) {
            std::memcpy(at, text.data(), text.size());
        }
        end = at + text.size();
    }
    std::unique_ptr<char[]> bytes;
    char* at;
    char* end;
};

void check_copy(const char* text, std::size_t size, std::size_t plain, scan_variant v) {
    const std::unique_ptr<char[]> out(new char[size]);
    const auto copied = [&](const char* stop, std::size_t bytes) {
        return stop == text + bytes &&
               std::string_view(out.get(), bytes) == std::string_view(text, bytes);
    };
    ASSERT_TRUE(copied(copy_plain(text, text + size, out.get(), v), plain));
    ASSERT_TRUE(copied(copy_plain(text, text + size, out.get()), plain));
    const char* const high = std::find_if(
        text, text + plain, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    const auto ascii = static_cast<std::size_t>(high - text);
    ASSERT_TRUE(copied(copy_plain_ascii(text, text + size, out.get(), v), ascii));
    ASSERT_TRUE(copied(copy_plain_ascii(text, text + size, out.get()), ascii));
}

void check(std::string_view text, std::size_t align, char filler) {
    const block b(text, align, filler);
    const char* stop = b.at;
    bool high = false;
    while (stop != b.end && !special(*stop)) {
        high |= static_cast<unsigned char>(*stop++) >= 0x80;
    }
    const char* token = b.at;
    while (token != b.end && space(*token)) {
        ++token;
    }
    // copy_plain() may not read behind the end, nor write behind as much: blocks of their own.
    const std::unique_ptr<char[]> bare(new char[text.size()]);
    std::copy(text.begin(), text.end(), bare.get());
    for (const auto v : variants()) {
        const string_run run = find_string_end(b.at, b.end, v);
        ASSERT_EQ(run.end - b.at, stop - b.at) << "variant " << static_cast<int>(v);
        ASSERT_EQ(run.non_ascii, high) << "variant " << static_cast<int>(v);
        ASSERT_EQ(find_token(b.at, b.end, v) - b.at, token - b.at);
        check_copy(bare.get(), text.size(), static_cast<std::size_t>(stop - b.at), v);
    }
    ASSERT_EQ(find_string_end(b.at, b.end).end, stop);
    for (const auto v : variants()) {
        for (const std::size_t gap : {0U, 1U, 3U, 17U}) {
            const block m(std::string(gap, 'g') + std::string(text), align, filler);
            const auto length = static_cast<std::size_t>(stop - b.at);
            const std::string behind(m.at + gap + length, m.end);
            const string_run run = move_string_run(m.at + gap, m.end, m.at, v);
            ASSERT_EQ(run.end - m.at - static_cast<std::ptrdiff_t>(gap), stop - b.at);
            ASSERT_EQ(run.non_ascii, high);
            ASSERT_EQ(std::string_view(m.at, length), std::string_view(b.at, length));
            // What was not read yet is as it was.
            ASSERT_EQ(std::string_view(m.at + gap + length, m.end), behind);
        }
    }
    ASSERT_EQ(find_token(b.at, b.end), token);
}

TEST(json_scan, finds_a_special_byte_at_every_place_and_alignment) {
    for (std::size_t align = 0; align < 64; ++align) {
        for (std::size_t place = 0; place < 140; place += align % 8 == 0 ? 1 : 5) {
            std::string text(140, 'a');
            for (const char c : {'"', '\\', '\n', '\x1F', '\0', '\x80'}) {
                text[place] = c;
                check(text, align, '"');
            }
        }
    }
}

TEST(json_scan, stops_at_the_end_whatever_lies_behind_it) {
    for (std::size_t size = 0; size < 140; ++size) {
        for (const char filler : {'"', 'a', '\xFF', ' ', '\0'}) {
            check(std::string(size, 'x'), 0, filler);
            check(std::string(size, ' '), 3, filler);
            check(std::string(size, '\xC3'), 1, filler);
        }
    }
}

TEST(json_scan, treats_every_byte_value_alike) {
    for (int byte = 0; byte < 256; ++byte) {
        for (std::size_t place : {0U, 1U, 7U, 8U, 15U, 16U, 31U, 32U, 47U, 63U, 64U, 99U}) {
            std::string text(100, 'a');
            text[place] = static_cast<char>(byte);
            check(text, place % 16, 'a');
            std::string spaces(100, ' ');
            spaces[place] = static_cast<char>(byte);
            check(spaces, place % 16, ' ');
        }
    }
}

TEST(json_scan, random_texts_agree) {
    std::mt19937 random(20240607);
    constexpr std::string_view alphabet = "ab  \t\n\r\"\\\x01\x1F \x7F\x80\xC3\xFFzz";
    for (int i = 0; i < 20'000; ++i) {
        std::string text(random() % 150, 'q');
        for (char& c : text) {
            if (random() % 32 == 0) {
                c = alphabet[random() % alphabet.size()];
            }
        }
        check(text, random() % 64, alphabet[random() % alphabet.size()]);
    }
}

TEST(json_scan, counts_separators_of_every_length_and_byte) {
    std::string all;
    for (int round = 0; round < 2; ++round) {
        for (int byte = 0; byte < 256; ++byte) {
            all += static_cast<char>(byte);
        }
    }
    for (std::size_t at = 0; at < 256; ++at) {
        for (std::size_t size = 0; size <= 200; size += at % 16 == 0 ? 1 : 19) {
            const std::string text = all.substr(at, size);
            std::size_t expected = 0;
            for (const char c : text) {
                expected += c == ',' || c == ':' || c == '[' || c == '{' ? 1 : 0;
            }
            for (const auto v : variants()) {
                ASSERT_EQ(count_separators(text.data(), text.data() + size, v), expected);
            }
        }
    }
}

TEST(json_escape, escapes_what_must_be_and_nothing_else) {
    std::string all;
    for (int byte = 0; byte < 128; ++byte) {
        all += static_cast<char>(byte);
    }
    std::string out;
    append_escaped(out, all);
    EXPECT_EQ(out,
              "\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r"
              "\\u000e\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018"
              "\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f !\\\"#$%&'()*+,-./0123456789:;"
              "<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\x7F");
}

}  // namespace
}  // namespace pillion::json
