// How connections are spread over shards.
#include "app/spread.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace pillion::app::testing {
namespace {

struct nobody final : spread::taker {
    void take(int) noexcept override {}
};

TEST(spread, few_stay_where_they_came) {
    spread all(2);
    nobody by;
    all.open(0, by);
    all.open(1, by);
    for (std::size_t i = 0; i < spread::lead_max(0); ++i) {
        EXPECT_EQ(all.place(0), 0U);
        all.held(0) = i + 1;
    }
    EXPECT_EQ(all.place(0), 1U);
    EXPECT_EQ(all.coming(1), 1U);
    all.arrived(1);
    EXPECT_EQ(all.coming(1), 0U);
}

// However the system deals them out, and however late the other shard gets what is passed to it.
TEST(spread, sixty_four_on_two_shards_are_never_more_uneven_than_forty_to_sixty) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        base::seeded_random random(seed);
        const std::uint64_t share = random.below(65);
        spread all(2);
        nobody by;
        all.open(0, by);
        all.open(1, by);
        for (int i = 0; i < 64; ++i) {
            const std::size_t accepted = random.below(64) < share ? 0 : 1;
            const std::size_t served = all.place(accepted);
            if (served == accepted) {
                ++all.held(served);
            }
            for (std::size_t s = 0; s < 2; ++s) {
                if (all.coming(s) > 0 && random.one_in(3)) {
                    all.arrived(s);
                    ++all.held(s);
                }
            }
        }
        const std::size_t first = all.held(0) + all.coming(0);
        EXPECT_EQ(first + all.held(1) + all.coming(1), 64U);
        EXPECT_GE(first * 100, 64U * 40) << "seed " << seed;
        EXPECT_LE(first * 100, 64U * 60) << "seed " << seed;
    }
}

TEST(spread, who_is_not_open_gets_none) {
    spread all(3);
    nobody by;
    all.open(0, by);
    all.held(0) = 1000;
    EXPECT_EQ(all.place(0), 0U);  // the others have not begun
    all.open(2, by);
    EXPECT_EQ(all.place(0), 2U);
    EXPECT_EQ(all.taker_of(2), &by);
    all.close(2);
    EXPECT_EQ(all.place(0), 0U);
    EXPECT_EQ(all.coming(2), 1U);  // what was coming still is
    EXPECT_EQ(all.taker_of(2), &by);
    all.leave(2);
    EXPECT_EQ(all.taker_of(2), nullptr);
}

TEST(spread, fewest_of_many_gets_the_next) {
    spread all(4);
    nobody by;
    for (std::size_t i = 0; i < 4; ++i) {
        all.open(i, by);
        all.held(i) = 100 - i;
    }
    all.held(0) = 200;
    EXPECT_EQ(all.place(0), 3U);
    EXPECT_EQ(all.place(0), 2U);  // 98 and 97 with the one that is coming
    EXPECT_EQ(all.place(1), 1U);
}

}  // namespace
}  // namespace pillion::app::testing
