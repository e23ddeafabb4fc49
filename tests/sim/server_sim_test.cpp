// Runs of the simulated server from within a test: what a seed gives is the same each time.
#include <gtest/gtest.h>

#include "sim/simulation.hpp"

namespace pillion::sim {
namespace {

TEST(server_sim, a_seed_gives_the_same_run_to_the_byte) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const sim_figures first = simulation(seed, 0, false).run();
        const sim_figures second = simulation(seed, 0, false).run();
        EXPECT_EQ(first.hash, second.hash) << seed;
        EXPECT_EQ(first.turns, second.turns) << seed;
        EXPECT_GT(first.answers, 0U) << seed;
    }
}

TEST(server_sim, seeds_differ) {
    EXPECT_NE(simulation(1, 0, false).run().hash, simulation(2, 0, false).run().hash);
}

}  // namespace
}  // namespace pillion::sim
