#include "base/chunk.hpp"

#include <cstring>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "unit/base/shared_chunk.hpp"

namespace pillion::base {
namespace {

TEST(chunk_pool, gives_at_least_the_capacity_asked_for) {
    chunk_pool pool;
    for (const std::size_t bytes :
         {0U, 1U, 4000U, 4096U, 16'000U, 16'384U, 65'000U, 65'536U, 1'000'000U}) {
        chunk* c = pool.take(bytes);
        EXPECT_GE(c->capacity, bytes);
        EXPECT_EQ(c->size(), 0U);
        EXPECT_EQ(c->room(), c->capacity);
        std::memset(c->data(), 0x7F, c->capacity);
        chunk_pool::give(c);
    }
    EXPECT_EQ(pool.live(), 0U);
}

TEST(chunk_pool, reuses_a_small_chunk_as_new) {
    chunk_pool pool;
    chunk* first = pool.take(100);
    first->begin = 5;
    first->end = 50;
    chunk_pool::give(first);
    chunk* second = pool.take(200);
    EXPECT_EQ(second, first);
    EXPECT_EQ(second->begin, 0U);
    EXPECT_EQ(second->end, 0U);
    EXPECT_EQ(second->next, nullptr);
    chunk_pool::give(second);
}

TEST(chunk_pool, counts_what_is_out_and_ignores_null) {
    chunk_pool pool;
    chunk_pool::give(nullptr);
    chunk* a = pool.take(1);
    chunk* b = pool.take(100'000);
    EXPECT_EQ(pool.live(), 2U);
    chunk_pool::give(a);
    EXPECT_EQ(pool.live(), 1U);
    chunk_pool::give(b);
    EXPECT_EQ(pool.live(), 0U);
}

TEST(chunk_pool, more_chunks_than_it_keeps_go_back_to_the_heap) {
    chunk_pool pool;
    chunk* list = nullptr;
    for (int i = 0; i < 1500; ++i) {
        chunk* c = pool.take(1);
        c->next = list;
        list = c;
    }
    while (list != nullptr) {
        chunk* next = list->next;
        chunk_pool::give(list);
        list = next;
    }
    EXPECT_EQ(pool.live(), 0U);
}

TEST(chunk_pool, bytes_are_what_the_heap_gave_and_has_not_got_back) {
    chunk_pool pool;
    EXPECT_EQ(pool.bytes(), 0U);
    chunk* const small = pool.take(100);
    EXPECT_EQ(pool.bytes(), 512U);
    chunk* const large = pool.take(1'000'000);
    EXPECT_EQ(pool.bytes(), 512U + 1'000'000 + sizeof(chunk));
    // A large one goes back at once, a small one stays for the next.
    chunk_pool::give(large);
    chunk_pool::give(small);
    EXPECT_EQ(pool.bytes(), 512U);
    chunk_pool::give(pool.take(100));
    EXPECT_EQ(pool.bytes(), 512U);
}

TEST(chunk_pool_death, a_chunk_still_out_at_the_end_is_a_bug) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            chunk_pool pool;
            static_cast<void>(pool.take(1));
        },
        "assertion failed");
}

TEST(chunk_pool, a_shared_chunk_goes_back_with_its_last_owner) {
    for (const std::size_t bytes : {10U, 5000U, 100'000U}) {
        chunk_pool pool;
        const std::string text(bytes, 't');
        chunk* const c = pillion::testing::full_chunk(pool, text);
        EXPECT_TRUE(chunk_pool::share(*c));
        EXPECT_TRUE(chunk_pool::share(*c));
        EXPECT_EQ(pool.live(), 1U);
        for (int owners = 3; owners > 0; --owners) {
            EXPECT_EQ(pool.live(), 1U);
            EXPECT_EQ(std::string_view(c->data() + c->begin, c->size()), text);
            chunk_pool::give(c);
        }
        EXPECT_EQ(pool.live(), 0U);
        // What is taken next has one owner again.
        chunk* const next = pool.take(bytes);
        EXPECT_EQ(next->shares, 0U);
        chunk_pool::give(next);
        EXPECT_EQ(pool.live(), 0U);
    }
}

TEST(chunk_pool, a_chunk_has_only_so_many_owners) {
    chunk_pool pool;
    chunk* const c = pillion::testing::full_chunk(pool, "text");
    std::size_t owners = 1;
    while (chunk_pool::share(*c)) {
        ++owners;
    }
    EXPECT_EQ(owners, 65'536U);
    EXPECT_FALSE(chunk_pool::share(*c));
    chunk_pool::give(c);
    EXPECT_TRUE(chunk_pool::share(*c));
    for (; owners > 0; --owners) {
        EXPECT_EQ(pool.live(), 1U);
        chunk_pool::give(c);
    }
    EXPECT_EQ(pool.live(), 0U);
}

}  // namespace
}  // namespace pillion::base
