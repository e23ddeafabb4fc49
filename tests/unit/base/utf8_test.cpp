#include "base/utf8.hpp"

#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/byte_buffer.hpp"

namespace pillion::base {
namespace {

// RFC 3629 by the book: decode, then check for the shortest form and the range.
std::size_t reference(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const auto byte = [&](std::size_t i) -> std::uint32_t {
            return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
        };
        const std::uint32_t lead = byte(0);
        const std::size_t length = lead < 0x80             ? 1
                                   : (lead & 0xE0) == 0xC0 ? 2
                                   : (lead & 0xF0) == 0xE0 ? 3
                                   : (lead & 0xF8) == 0xF0 ? 4
                                                           : 0;
        if (length == 0) {
            return at;
        }
        std::uint32_t value = length == 1 ? lead : lead & (0x7FU >> length);
        for (std::size_t i = 1; i < length; ++i) {
            if ((byte(i) & 0xC0) != 0x80) {
                return at;
            }
            value = value << 6 | (byte(i) & 0x3F);
        }
        constexpr std::uint32_t shortest[] = {0, 0, 0x80, 0x800, 0x10000};
        if (value < shortest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
            return at;
        }
        at += length;
    }
    return at;
}

void check(std::string_view text) {
    // A block of its own size, so that the address sanitizer sees reads outside.
    const std::unique_ptr<char[]> bytes(new char[text.size()]);
    std::copy(text.begin(), text.end(), bytes.get());
    const std::string_view copy(bytes.get(), text.size());
    const std::size_t expected = reference(text);
    ASSERT_EQ(utf8::valid_prefix(copy), expected);
    ASSERT_EQ(utf8::valid_prefix(copy, utf8::variant::scalar), expected);
    if (utf8::available(utf8::variant::avx2)) {
        ASSERT_EQ(utf8::valid_prefix(copy, utf8::variant::avx2), expected);
    }
}

TEST(utf8, every_sequence_of_up_to_three_bytes_is_judged_right) {
    std::string text;
    for (unsigned a = 0x70; a < 256; ++a) {
        check(text = {static_cast<char>(a)});
        for (unsigned b = 0x70; b < 256; ++b) {
            check(text = {static_cast<char>(a), static_cast<char>(b)});
            for (unsigned c = 0x7E; c < 256; c += c == 0x81 ? 0x3D : 1) {
                check(text = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)});
            }
        }
    }
}

TEST(utf8, every_scalar_value_is_valid_and_encodes_back) {
    for (std::uint32_t value = 0; value <= 0x10FFFF; ++value) {
        if (value >= 0xD800 && value <= 0xDFFF) {
            continue;
        }
        char bytes[4];
        const std::size_t size = utf8::encode(value, bytes);
        ASSERT_EQ(reference({bytes, size}), size);
        ASSERT_TRUE(utf8::validate({bytes, size}));
        ASSERT_EQ(utf8::valid_prefix({bytes, size - 1}), 0U);
    }
}

TEST(utf8, a_bad_sequence_is_found_at_every_place) {
    for (const std::string_view bad :
         {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xE2\x82", "\xF0\x80\x80\x80",
          "\xF4\x90\x80\x80", "\xFF", "\xF0\x9F"}) {
        for (const std::string_view unit : {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
            std::string text;
            while (text.size() < 150) {
                check(text + std::string(bad));
                check(text + std::string(bad) + std::string(70, 'z'));
                check(text + std::string(bad) + text);
                text += unit;
            }
        }
    }
}

TEST(utf8, mutated_text_is_judged_like_the_reference) {
    std::mt19937 random(11);
    for (int i = 0; i < 50'000; ++i) {
        std::string text;
        const std::size_t size = random() % 200;
        while (text.size() < size) {
            char bytes[4];
            constexpr std::uint32_t bounds[] = {0x80, 0x800, 0xD800, 0x110000};
            auto value = static_cast<std::uint32_t>(random() % bounds[random() % 4]);
            value = value >= 0xD800 && value <= 0xDFFF ? 'x' : value;
            text.append(bytes, utf8::encode(value, bytes));
        }
        for (auto flips = random() % 3; flips > 0 && !text.empty(); --flips) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        check(text);
    }
}

std::string repaired(std::string_view text) {
    chunk_pool pool;
    byte_buffer out(pool);
    utf8::sanitize(text, out);
    arena memory(pool);
    EXPECT_EQ(utf8::sanitize(text, memory), out.view());
    EXPECT_TRUE(utf8::validate(out.view()));
    return std::string(out.view());
}

// Unicode 15 §3.9, table 3-8 and the text around it.
TEST(utf8, each_maximal_subpart_becomes_one_replacement) {
    const std::string r(utf8::replacement);
    EXPECT_EQ(repaired("plain \xC3\xA9"), "plain \xC3\xA9");
    EXPECT_EQ(repaired(""), "");
    EXPECT_EQ(repaired("a\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
              "a" + r + r + r + "b" + r + "c" + r + r + "d");
    EXPECT_EQ(repaired("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
              r + r + r + r + r + r + r + r + "A");
    EXPECT_EQ(repaired("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
              r + r + r + r + r + r + r + r + "A");
    EXPECT_EQ(repaired("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
              r + r + r + r + r + "A" + r + r + "B");
    EXPECT_EQ(repaired("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
}

TEST(utf8, valid_text_is_repaired_without_a_copy) {
    chunk_pool pool;
    arena memory(pool);
    const std::string_view text = "as it is";
    EXPECT_EQ(utf8::sanitize(text, memory).data(), text.data());
}

}  // namespace
}  // namespace pillion::base
