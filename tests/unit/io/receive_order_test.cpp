#include "io/receive_order.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace pillion::io {
namespace {

struct plain_op : op {
    plain_op() : op([](op&, const completion&) noexcept {}) {}
};

std::vector<completion> told_of(std::initializer_list<op*> fed) {
    static char bytes[1];
    std::vector<completion> told;
    for (op* const one : fed) {
        told.push_back({.target = one, .res = 1, .more = true, .data = bytes});
    }
    return told;
}

TEST(receive_order, who_found_no_buffer_goes_before_who_had_one) {
    receive_order order;
    plain_op a;
    plain_op b;
    plain_op c;
    order.starved = {&a, &b, &c};
    order.sort(told_of({&a}));
    EXPECT_EQ(order.starved, (std::vector<op*>{&b, &c}));
    EXPECT_EQ(order.fed, (std::vector<op*>{&a}));
    EXPECT_TRUE(order.is_greedy(a));
    EXPECT_FALSE(order.is_greedy(b));
    // What it was fed in another turn does not count.
    order.starved = {&a};
    order.fed.clear();
    order.sort(told_of({&b}));
    EXPECT_EQ(order.starved, (std::vector<op*>{&a}));
    EXPECT_TRUE(order.fed.empty());
}

// Four clients with messages of 1 MB each: one had 31 ms for an answer while the others had 3.
TEST(receive_order, the_end_of_a_large_message_does_not_end_greed) {
    receive_order order;
    plain_op a;
    receive_order::received(a, true);
    receive_order::received(a, true);
    EXPECT_EQ(a.flags, 0) << "only the greedy are marked";
    order.starved = {&a};
    order.sort(told_of({&a}));
    for (int message = 0; message < 3; ++message) {
        for (const bool emptied : {false, false, true}) {
            receive_order::received(a, emptied);
            EXPECT_TRUE(order.is_greedy(a));
        }
    }
    receive_order::received(a, true);
    EXPECT_FALSE(order.is_greedy(a));
    EXPECT_EQ(a.flags & receive_order::flags_kept, 0);
}

// Of eight clients with messages of 100 KB, which do not take all buffers, two had been greedy in
// their first turn and had a half and a third of the others' share from then on.
TEST(receive_order, nobody_is_greedy_long_after_the_last_shortage) {
    receive_order order;
    plain_op a;
    plain_op b;
    order.starved = {&a};
    order.sort(told_of({&a}));
    order.fed.clear();
    for (std::uint64_t turn = 1; turn < receive_order::short_for_turns; ++turn) {
        order.sort(told_of({&a, &b}));
        ASSERT_TRUE(order.is_greedy(a)) << turn;
    }
    order.sort({});
    EXPECT_FALSE(order.is_greedy(a));
    // One that somebody else has makes it what it was.
    order.starved = {&b};
    order.sort({});
    EXPECT_TRUE(order.is_greedy(a));
    EXPECT_FALSE(order.is_greedy(b));
}

}  // namespace
}  // namespace pillion::io
