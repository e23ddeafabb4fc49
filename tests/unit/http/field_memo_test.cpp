// field_memo: never another verdict than the judge's, and seldom asked twice.
#include "http/field_memo.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pillion::http {
namespace {

struct counting {
    field_memo<std::size_t> memo;
    int asked = 0;
    std::size_t of(std::string_view value) {
        return memo.get(value, [this](std::string_view v) {
            ++asked;
            return v.size() * 1000 + static_cast<unsigned char>(v.empty() ? '\0' : v.front());
        });
    }
};

TEST(field_memo, asks_once_for_what_comes_again) {
    counting c;
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(c.of("application/json"), 16'000U + 'a');
        EXPECT_EQ(c.of("localhost"), 9'000U + 'l');
    }
    EXPECT_EQ(c.asked, 2);
    c.memo.clear();
    c.of("localhost");
    EXPECT_EQ(c.asked, 3);
}

// Same length and same last byte: the same place.
TEST(field_memo, values_that_share_a_place_are_told_apart) {
    counting c;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(c.of("abc"), 3'000U + 'a');
        EXPECT_EQ(c.of("xbc"), 3'000U + 'x');
    }
    EXPECT_EQ(c.asked, 6);
}

TEST(field_memo, every_length_and_the_empty_one) {
    counting c;
    for (int round = 0; round < 2; ++round) {
        for (std::size_t n = 0; n < 200; ++n) {
            const std::string value(n, 'z');
            EXPECT_EQ(c.of(value), n == 0 ? 0U : n * 1000 + 'z');
        }
    }
}

}  // namespace
}  // namespace pillion::http
