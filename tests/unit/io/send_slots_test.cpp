#include "io/send_slots.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::io {
namespace {

TEST(send_slots, each_has_one_of_its_own_and_those_given_back_come_again) {
    send_slots all;
    std::vector<send_slot*> taken;
    int owner = 0;
    for (int i = 0; i < 100; ++i) {
        taken.push_back(all.take([](op&, const completion&) noexcept {}, &owner));
        EXPECT_EQ(taken.back()->owner, &owner);
        EXPECT_NE(taken.back()->on_complete, nullptr);
        EXPECT_FALSE(taken.back()->in_flight);
    }
    const std::set<send_slot*> different(taken.begin(), taken.end());
    EXPECT_EQ(different.size(), taken.size());
    for (send_slot* slot : taken) {
        all.give(slot);
    }
    // The one used last is the one in the cache.
    EXPECT_EQ(all.take(nullptr, nullptr), taken.back());
    for (int i = 1; i < 100; ++i) {
        EXPECT_TRUE(different.contains(all.take(nullptr, nullptr)));
    }
}

}  // namespace
}  // namespace pillion::io
