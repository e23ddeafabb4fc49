#include "mcp/cursor.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

class cursor : public ::testing::Test {
 protected:
    base::chunk_pool pool;
    base::arena memory{pool};
};

TEST_F(cursor, what_was_encoded_comes_back) {
    const std::string keys[] = {
        "", "a", "tool-1", std::string(1000, 'x'), "z\0y", "\xF0\x9F\xA6\x8A"};
    for (const list_kind kind : {list_kind::tools, list_kind::prompts, list_kind::resources,
                                 list_kind::templates, list_kind::provided}) {
        for (const std::string& key : keys) {
            const position at{kind, 7, key};
            const auto back = decode_cursor(encode_cursor(at, memory), memory);
            ASSERT_TRUE(back.has_value());
            EXPECT_EQ(back->kind, kind);
            EXPECT_EQ(back->number, 7U);
            EXPECT_EQ(back->after, key);
        }
    }
}

TEST_F(cursor, any_changed_character_is_noticed) {
    const std::string good(encode_cursor({list_kind::tools, 0, "echo"}, memory));
    for (std::size_t i = 0; i < good.size(); ++i) {
        for (const char c : {'A', 'b', '_', '=', ' '}) {
            std::string bad = good;
            if (bad[i] == c) {
                continue;
            }
            bad[i] = c;
            EXPECT_FALSE(decode_cursor(bad, memory).has_value()) << bad;
        }
    }
}

TEST_F(cursor, every_truncation_is_refused) {
    const std::string good(encode_cursor({list_kind::prompts, 0, "abcdef"}, memory));
    for (std::size_t n = 0; n < good.size(); ++n) {
        EXPECT_FALSE(decode_cursor(good.substr(0, n), memory).has_value());
    }
}

TEST_F(cursor, is_the_same_on_every_machine_and_after_every_restart) {
    EXPECT_EQ(encode_cursor({list_kind::tools, 0, "echo"}, memory),
              encode_cursor({list_kind::tools, 0, "echo"}, memory));
}

}  // namespace
}  // namespace pillion::mcp
