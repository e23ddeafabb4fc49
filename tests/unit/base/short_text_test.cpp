#include "base/short_text.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

constexpr std::size_t longest = 100;

// Each in memory of its own size, so that a byte too many is seen by ASan.
std::string sample_of(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
        text += static_cast<char>('a' + i % 23);
    }
    return text;
}

TEST(short_text, copies_every_size_and_no_byte_more) {
    for (std::size_t size = 0; size <= longest; ++size) {
        const std::string from = sample_of(size);
        std::string to(size + 2, '.');
        short_copy(to.data() + 1, from.data(), size);
        EXPECT_EQ(to, "." + from + ".") << size;
    }
    short_copy(nullptr, nullptr, 0);
}

TEST(short_text, each_byte_makes_a_difference) {
    for (std::size_t size = 0; size <= longest; ++size) {
        const std::string a = sample_of(size);
        std::string b = a;
        EXPECT_TRUE(short_equal(a, b)) << size;
        EXPECT_FALSE(short_equal(a, sample_of(size + 1))) << size;
        for (char& c : b) {
            const char was = c;
            c = static_cast<char>(c ^ 0x80);
            EXPECT_FALSE(short_equal(a, b)) << size;
            c = was;
        }
    }
    EXPECT_TRUE(short_equal({}, std::string_view()));
}

TEST(short_text, words_of_one_size_differ_where_their_texts_do) {
    for (std::size_t size = 0; size <= 12; ++size) {
        std::string text = sample_of(size);
        std::set<std::uint64_t> seen = {short_word(text.data(), size)};
        for (std::size_t at = 0; at < std::min<std::size_t>(size, 8); ++at) {
            const char was = text[at];
            for (int byte = 0; byte < 256; ++byte) {
                text[at] = static_cast<char>(byte);
                const bool fresh = seen.insert(short_word(text.data(), size)).second;
                EXPECT_EQ(fresh, text[at] != was) << size << ' ' << at << ' ' << byte;
            }
            text[at] = was;
        }
    }
}

}  // namespace
}  // namespace pillion::base
