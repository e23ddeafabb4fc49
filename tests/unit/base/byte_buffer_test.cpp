#include "base/byte_buffer.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

TEST(byte_buffer, holds_nothing_and_no_memory_at_first) {
    chunk_pool pool;
    byte_buffer buffer(pool, 100);
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(buffer.view(), "");
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(buffer.take(), nullptr);
    EXPECT_EQ(pool.live(), 0U);
}

TEST(byte_buffer, keeps_its_content_while_it_grows) {
    chunk_pool pool;
    byte_buffer buffer(pool, 64);
    std::string expected;
    for (int i = 0; i < 30'000; ++i) {
        const std::string piece = std::to_string(i);
        buffer.append(piece);
        buffer.append(',');
        expected += piece + ',';
    }
    EXPECT_EQ(buffer.view(), expected);
    buffer.prepend("head ");
    EXPECT_EQ(buffer.view(), "head " + expected);
    EXPECT_EQ(pool.live(), 1U);
}

TEST(byte_buffer, the_head_gap_takes_text_of_exactly_its_size) {
    chunk_pool pool;
    byte_buffer buffer(pool, 8);
    buffer.append("body");
    buffer.prepend("12345678");
    EXPECT_EQ(buffer.view(), "12345678body");
    byte_buffer empty(pool, 4);
    empty.prepend("head");
    EXPECT_EQ(empty.view(), "head");
}

TEST(byte_buffer_death, more_than_the_head_gap_is_a_bug) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            chunk_pool pool;
            byte_buffer buffer(pool, 3);
            buffer.prepend("four");
        },
        "assertion failed");
}

TEST(byte_buffer, reserves_room_that_is_committed_in_part) {
    chunk_pool pool;
    byte_buffer buffer(pool);
    char* at = buffer.reserve(10'000);
    at[0] = 'a';
    at[1] = 'b';
    buffer.commit(2);
    EXPECT_EQ(buffer.view(), "ab");
}

TEST(byte_buffer, truncate_and_clear_keep_the_memory) {
    chunk_pool pool;
    byte_buffer buffer(pool, 16);
    buffer.append("abcdef");
    const char* data = buffer.data();
    buffer.truncate(3);
    EXPECT_EQ(buffer.view(), "abc");
    buffer.prepend("x");
    buffer.clear();
    EXPECT_TRUE(buffer.empty());
    buffer.append("again");
    EXPECT_EQ(buffer.data(), data);
    buffer.prepend("0123456789abcdef");
    EXPECT_EQ(buffer.view(), "0123456789abcdefagain");
}

TEST(byte_buffer, moves_and_hands_over_its_chunk) {
    chunk_pool pool;
    byte_buffer first(pool);
    first.append("content");
    byte_buffer second(std::move(first));
    EXPECT_EQ(second.view(), "content");
    byte_buffer third(pool);
    third.append("replaced");
    third = std::move(second);
    EXPECT_EQ(third.view(), "content");
    EXPECT_EQ(pool.live(), 1U);
    chunk* c = third.take();
    EXPECT_TRUE(third.empty());
    EXPECT_EQ(std::string_view(c->data() + c->begin, c->size()), "content");
    chunk_pool::give(c);
    EXPECT_EQ(pool.live(), 0U);
}

TEST(byte_buffer, room_that_was_asked_for_is_there_and_what_is_not_leaves_it_as_it_was) {
    chunk_pool pool;
    byte_buffer b(pool, 16);
    EXPECT_TRUE(b.try_reserve(100'000));
    const char* const at = b.data();
    b.append(std::string(100'000, 'x'));
    EXPECT_EQ(b.data(), at);
    b.prepend("head");
    EXPECT_FALSE(b.try_reserve(std::size_t{UINT32_MAX}));
    EXPECT_EQ(b.size(), 100'004U);
    EXPECT_TRUE(b.try_reserve(50));
    EXPECT_EQ(b.view().substr(0, 5), "headx");
}

}  // namespace
}  // namespace pillion::base
