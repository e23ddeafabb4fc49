#include "io/receive_buffers.hpp"

#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::io {
namespace {

constexpr std::size_t small_bytes = 4096;
constexpr std::size_t large_bytes = limits::recv_large_factor * small_bytes;

TEST(receive_buffers, large_ones_are_for_those_who_expect_a_lot) {
    receive_buffers all(4, small_bytes);
    ASSERT_TRUE(all.ok());
    for (const std::size_t expected : {std::size_t{0}, small_bytes, 2 * small_bytes}) {
        const auto one = all.take(expected);
        EXPECT_EQ(one.bytes, small_bytes - limits::padding) << expected;
        all.give(one.id);
    }
    // No more than is expected: what follows belongs to the next request.
    const auto some = all.take(3 * small_bytes);
    EXPECT_EQ(some.bytes, 3 * small_bytes);
    const auto most = all.take(SIZE_MAX);
    EXPECT_EQ(most.bytes, large_bytes - limits::padding);
    EXPECT_EQ(all.lent(), 2U);
    all.give(some.id);
    all.give(most.id);
    EXPECT_EQ(all.lent(), 0U);
}

// 64 bodies of 32 KiB at once took five receives each: whoever met no large buffer was given small
// ones.
TEST(receive_buffers, who_expects_a_lot_waits_for_a_large_one) {
    receive_buffers all(2, small_bytes);
    std::vector<receive_buffers::lease> taken;
    std::set<std::uint32_t> ids;
    for (std::size_t i = 0; i < limits::recv_large_buffers + 2; ++i) {
        taken.push_back(all.take(i < limits::recv_large_buffers ? large_bytes : 0));
        ASSERT_NE(taken.back().data, nullptr);
        ids.insert(taken.back().id);
        // Each is its own, padding included.
        std::memset(taken.back().data, static_cast<int>(i), taken.back().bytes + limits::padding);
        if (i + 1 == limits::recv_large_buffers) {
            EXPECT_EQ(all.take(large_bytes).data, nullptr);
        }
    }
    EXPECT_EQ(ids.size(), taken.size());
    EXPECT_EQ(all.take(large_bytes).data, nullptr);
    EXPECT_EQ(all.take(0).data, nullptr);
    for (std::size_t i = 0; i < taken.size(); ++i) {
        EXPECT_EQ(taken[i].data[0], static_cast<char>(i));
        EXPECT_EQ(taken[i].data[taken[i].bytes + limits::padding - 1], static_cast<char>(i));
        all.give(taken[i].id);
    }
    EXPECT_EQ(all.lent(), 0U);
    EXPECT_EQ(all.take(large_bytes).bytes, large_bytes - limits::padding);
}

}  // namespace
}  // namespace pillion::io
