#include "base/arena.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

TEST(arena, aligns_every_allocation) {
    chunk_pool pool;
    arena memory(pool);
    for (std::size_t bytes = 0; bytes < 200; ++bytes) {
        for (std::size_t align = 1; align <= 64; align *= 2) {
            auto* p = static_cast<char*>(memory.allocate(bytes, align));
            ASSERT_NE(p, nullptr);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % align, 0U);
            std::memset(p, 0x22, bytes);
        }
    }
}

TEST(arena, allocations_of_all_sizes_do_not_overlap) {
    chunk_pool pool;
    arena memory(pool);
    std::vector<std::pair<unsigned char*, std::size_t>> blocks;
    for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t bytes = i % 7 == 0 ? i * 700 : i % 50;
        auto* p = static_cast<unsigned char*>(memory.allocate(bytes));
        std::memset(p, static_cast<int>(i & 0xFF), bytes);
        blocks.emplace_back(p, bytes);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        for (std::size_t at = 0; at < blocks[i].second; ++at) {
            ASSERT_EQ(blocks[i].first[at], i & 0xFF) << "block " << i;
        }
    }
}

TEST(arena, release_gives_everything_back_and_it_works_again) {
    chunk_pool pool;
    arena memory(pool);
    memory.allocate(10);
    memory.allocate(100'000);
    EXPECT_EQ(pool.live(), 2U);
    memory.release();
    EXPECT_EQ(pool.live(), 0U);
    EXPECT_NE(memory.allocate(10), nullptr);
    EXPECT_EQ(pool.live(), 1U);
}

TEST(arena, copies_text) {
    chunk_pool pool;
    arena memory(pool);
    std::string text = "kept";
    const std::string_view copy = memory.dup(text);
    text = "gone";
    EXPECT_EQ(copy, "kept");
    EXPECT_EQ(memory.dup("").size(), 0U);
}

TEST(arena, makes_objects_and_arrays) {
    struct point {
        int x;
        int y;
    };
    chunk_pool pool;
    arena memory(pool);
    const point* p = memory.make<point>(1, 2);
    EXPECT_EQ(p->x + p->y, 3);
    auto* numbers = memory.array<std::uint64_t>(3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers) % alignof(std::uint64_t), 0U);
}

TEST(arena, a_trimmed_tail_is_used_by_the_next_allocation) {
    chunk_pool pool;
    arena memory(pool);
    char* p = static_cast<char*>(memory.allocate(100, 1));
    memory.trim(p + 10, p + 100);
    EXPECT_EQ(memory.allocate(1, 1), p + 10);
}

// Trimming a block with a chunk of its own moved the cursor into it while the limit stayed behind
// in another chunk: the next block reached past its end.
TEST(arena, trimming_a_block_away_from_the_cursor_changes_nothing) {
    chunk_pool pool;
    arena memory(pool);
    char* before = static_cast<char*>(memory.allocate(16, 1));
    char* large = static_cast<char*>(memory.allocate(1'000'000, 1));
    memory.trim(large + 10, large + 1'000'000);
    EXPECT_EQ(memory.allocate(16, 1), before + 16);
}

TEST(arena, a_large_block_leaves_the_half_full_chunk_in_use) {
    chunk_pool pool;
    arena memory(pool);
    char* before = static_cast<char*>(memory.allocate(16, 16));
    memory.allocate(1'000'000);
    EXPECT_EQ(memory.allocate(16, 16), before + 16);
}

TEST(arena, adopted_chunks_go_back_with_it) {
    chunk_pool pool;
    {
        arena memory(pool);
        memory.adopt(pool.take(50));
        EXPECT_EQ(pool.live(), 1U);
    }
    EXPECT_EQ(pool.live(), 0U);
}

TEST(arena, refuses_beyond_its_limit_only_what_may_be_refused) {
    chunk_pool pool;
    arena memory(pool);
    memory.limit(100'000);
    EXPECT_EQ(memory.try_dup("abc"), "abc");
    void* const large = memory.try_allocate(60'000);
    ASSERT_NE(large, nullptr);
    std::memset(large, 1, 60'000);
    EXPECT_EQ(memory.try_allocate(60'000), nullptr);
    EXPECT_EQ(memory.try_dup(std::string(60'000, 'x')).data(), nullptr);
    EXPECT_FALSE(memory.exceeded());
    // What must succeed does, and counts.
    EXPECT_NE(memory.allocate(60'000), nullptr);
    EXPECT_GE(memory.bytes(), 120'000U);
    while (memory.try_allocate(64) != nullptr) {
    }
    EXPECT_NE(memory.allocate(64), nullptr);
    memory.exceed();
    EXPECT_TRUE(memory.exceeded());
    memory.release();
    EXPECT_FALSE(memory.exceeded());
    EXPECT_EQ(memory.bytes(), 0U);
    EXPECT_NE(memory.try_allocate(60'000), nullptr);
    EXPECT_EQ(memory.try_allocate(SIZE_MAX / 2), nullptr);
}

// A block of 4 GiB ended the process.
TEST(arena, what_no_chunk_can_hold_is_refused) {
    chunk_pool pool;
    arena memory(pool);
    EXPECT_EQ(memory.try_allocate(std::size_t{UINT32_MAX} + 1), nullptr);
    EXPECT_EQ(memory.try_allocate(SIZE_MAX), nullptr);
    EXPECT_EQ(pool.try_take(SIZE_MAX - 100), nullptr);
}

TEST(arena, knows_what_it_holds) {
    chunk_pool pool;
    arena memory(pool);
    EXPECT_FALSE(memory.holds("abc"));
    const std::string_view small = memory.dup("abc");
    const std::string_view large = memory.dup(std::string(100'000, 'x'));
    chunk* const given = pool.take(1000);
    memory.adopt(given);
    const std::string_view whole(given->data(), given->capacity);
    for (const std::string_view inside :
         {small, large, small.substr(3), large.substr(5, 7), whole}) {
        EXPECT_TRUE(memory.holds(inside));
    }
    const std::string other(large);
    EXPECT_FALSE(memory.holds(other));
    EXPECT_FALSE(memory.holds({whole.data(), whole.size() + 1}));
    EXPECT_FALSE(memory.holds({whole.data() - 1, 2}));
    EXPECT_FALSE(memory.holds({}));
}

}  // namespace
}  // namespace pillion::base
