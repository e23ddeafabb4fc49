#include "io/receive_buffers.hpp"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::io {
namespace {

constexpr std::size_t least = 4096;
constexpr std::size_t most = limits::recv_large_factor * least - limits::padding;

TEST(receive_buffers, receives_of_a_turn_lie_together_and_each_turn_begins_anew) {
    receive_buffers all(64, least);
    ASSERT_TRUE(all.ok());
    char* const first = all.next().data;
    for (int turn = 0; turn < 1000; ++turn) {
        EXPECT_EQ(all.next().data, first);
        EXPECT_EQ(all.next().bytes, most);
        all.took(467);
        // By whole lines of the cache.
        EXPECT_EQ(all.next().data, first + 512);
        all.took(512);
        EXPECT_EQ(all.next().data, first + 1024);
        all.give();
        EXPECT_EQ(all.next().data, first + 1024);  // one is still lent
        all.give();
        EXPECT_EQ(all.lent(), 0U);
    }
}

TEST(receive_buffers, who_is_late_gets_less_and_then_nothing) {
    receive_buffers all(40, least);
    std::vector<receive_buffers::room> taken;
    for (auto r = all.next(); r.data != nullptr; r = all.next()) {
        EXPECT_GE(r.bytes + limits::padding, least);
        // Each is its own, padding included.
        std::memset(r.data, static_cast<int>(taken.size()), r.bytes + limits::padding);
        taken.push_back(r);
        all.took(r.bytes);
    }
    // 40 small ones are two and a half large ones; a line less each time.
    ASSERT_EQ(taken.size(), 3U);
    EXPECT_EQ(taken[0].bytes, most);
    EXPECT_EQ(taken[1].bytes, most);
    EXPECT_LT(taken[2].bytes, most);
    for (std::size_t i = 0; i < taken.size(); ++i) {
        EXPECT_EQ(taken[i].data[0], static_cast<char>(i));
        EXPECT_EQ(taken[i].data[taken[i].bytes - 1], static_cast<char>(i));
    }
    all.give();
    EXPECT_EQ(all.next().data, nullptr);
    all.give();
    all.give();
    EXPECT_EQ(all.next().bytes, most);
}

TEST(receive_buffers, a_small_area_has_room_for_one) {
    receive_buffers one(1, least);
    EXPECT_EQ(one.next().bytes, least - limits::padding);
    one.took(1);
    EXPECT_EQ(one.next().data, nullptr);
    one.give();
    EXPECT_EQ(one.next().bytes, least - limits::padding);
}

}  // namespace
}  // namespace pillion::io
