// Goal: the ceiling is found in few runs, and promises are not met by a server that lags behind.

#include "bench/load/ceiling.hpp"

#include <gtest/gtest.h>

namespace pillion::load {
namespace {

TEST(ceiling, is_found_to_two_percent) {
    for (const double limit : {10.0, 700.0, 33'333.0, 99'000.0}) {
        int runs = 0;
        const double found = search_ceiling(100'000, [&](double rate) {
            ++runs;
            return rate <= limit;
        });
        if (limit > 100) {
            EXPECT_LE(found, limit);
            EXPECT_GE(found, limit * 0.98);
        } else {
            EXPECT_EQ(found, 0);  // less than a thousandth of what it does unhurried
        }
        EXPECT_LE(runs, 16);
    }
    EXPECT_EQ(search_ceiling(1000, [](double) { return false; }), 0);
}

// What the server does in closed loop is where it begins, and was where it ended.
TEST(ceiling, is_looked_for_above_the_first_rate) {
    for (const double limit : {100'000.0, 107'000.0, 124'999.0, 300'000.0}) {
        int runs = 0;
        const double found = search_ceiling(100'000, [&](double rate) {
            ++runs;
            return rate <= limit;
        });
        EXPECT_LE(found, limit);
        EXPECT_GE(found, limit * 0.98);
        EXPECT_LE(runs, 12);
    }
    double highest = 0;
    const double found = search_ceiling(1000, [&](double rate) {
        highest = rate;
        return true;
    });
    EXPECT_EQ(found, highest);
    EXPECT_GT(found, 5000);
    EXPECT_LT(found, 7000);
}

run_result run_of(std::int64_t latency_ns, double rps) {
    run_result run;
    run.seconds = 1;
    run.answers_in_time = static_cast<std::uint64_t>(rps);
    run.counts.ok = run.answers_in_time;
    run.latency.add(latency_ns);
    return run;
}

std::vector<assertion> promise(std::string_view text) {
    std::string fault;
    return {parse_assertion(text, fault).value()};
}

TEST(ceiling, promises) {
    EXPECT_TRUE(meets(promise("p99 < 5ms"), 1000, run_of(4'000'000, 1000)));
    EXPECT_FALSE(meets(promise("p99 < 5ms"), 1000, run_of(6'000'000, 1000)));
    EXPECT_TRUE(meets(promise("p99 < 5ms"), 1000, run_of(4'000'000, 985)));
    // It kept the latency of what it answered, and did not keep up.
    EXPECT_FALSE(meets(promise("p99 < 5ms"), 1000, run_of(4'000'000, 900)));
    run_result wrong = run_of(4'000'000, 1000);
    wrong.counts.add_error({fault::wrong_id}, "");
    EXPECT_FALSE(meets(promise("p99 < 5ms"), 1000, wrong));
    EXPECT_TRUE(meets(promise("error_rate < 1%"), 1000, wrong));
}

// Each change reaches each stream: a quarter of the rate passed for all of it.
TEST(ceiling, a_rate_of_changes_is_none_of_deliveries) {
    run_result run = run_of(4'000'000, 1000);
    run.answers_each = 4;
    EXPECT_FALSE(meets(promise("p99 < 5ms"), 1000, run));
    EXPECT_TRUE(meets(promise("p99 < 5ms"), 250, run));
}

}  // namespace
}  // namespace pillion::load
