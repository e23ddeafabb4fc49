// Goal: assertions mean what they say, and what is no assertion is refused.

#include "bench/load/assertion.hpp"

#include <gtest/gtest.h>

#include "bench/load/run_result.hpp"

namespace pillion::load {
namespace {

assertion parse(std::string_view text) {
    std::string fault;
    const std::optional<assertion> read = parse_assertion(text, fault);
    EXPECT_TRUE(read) << fault;
    return read.value_or(assertion{});
}

TEST(assertion, each_metric_and_comparison) {
    EXPECT_EQ(parse("p50 < 300us").what, metric::p50);
    EXPECT_EQ(parse("p99.9<=5ms").what, metric::p999);
    EXPECT_EQ(parse("p99.99 < 1s").what, metric::p9999);
    EXPECT_EQ(parse("max < 1s").what, metric::max);
    EXPECT_EQ(parse("mean<1ms").what, metric::mean);
    EXPECT_EQ(parse("rps >= 20000").what, metric::rps);
    EXPECT_EQ(parse("errors == 0").what, metric::errors);
    EXPECT_EQ(parse("error_rate <= 0.1%").what, metric::error_rate);
    EXPECT_DOUBLE_EQ(parse("p90 < 5ms").bound, 5e6);
    EXPECT_DOUBLE_EQ(parse("error_rate <= 0.1%").bound, 0.001);
    EXPECT_TRUE(holds(parse("rps > 5"), 6));
    EXPECT_FALSE(holds(parse("rps > 5"), 5));
    EXPECT_TRUE(holds(parse("rps >= 5"), 5));
    EXPECT_FALSE(holds(parse("rps < 5"), 5));
    EXPECT_TRUE(holds(parse("rps <= 5"), 5));
    EXPECT_TRUE(holds(parse("errors == 0"), 0));
    EXPECT_FALSE(holds(parse("errors == 0"), 1));
}

TEST(assertion, refusals_name_the_text) {
    for (const char* const bad :
         {"", "p99", "p99 <", "p99 < 5", "p98 < 5ms", "p99 ! 5ms", "p99 <> 5ms", "p99 = 5ms",
          "rps > 5ms", "errors < x", "error_rate < 5ms", "< 5ms", "p99 < -5ms", "p99 < 5ms 6"}) {
        std::string fault;
        EXPECT_FALSE(parse_assertion(bad, fault)) << bad;
        EXPECT_NE(fault.find(bad), std::string::npos) << fault;
    }
}

// A server that answered nothing in time must not pass "p99 < 5ms".
TEST(assertion, latency_of_nothing_keeps_no_bound) {
    const run_result nothing;
    EXPECT_EQ(nothing.value(metric::p99), std::nullopt);
    EXPECT_FALSE(holds(parse("p99 < 5ms"), nothing.value(metric::p99)));
    EXPECT_TRUE(holds(parse("errors == 0"), nothing.value(metric::errors)));
    EXPECT_TRUE(holds(parse("rps < 1"), nothing.value(metric::rps)));
}

TEST(assertion, values_of_a_run) {
    run_result run;
    run.latency.add(1000);
    run.latency.add(3000);
    run.seconds = 2;
    run.answers_in_time = 10;
    run.counts.ok = 2;
    run.counts.add_error({fault::reset}, "");
    EXPECT_DOUBLE_EQ(run.value(metric::rps).value(), 5);
    EXPECT_DOUBLE_EQ(run.value(metric::max).value(), 3000);
    EXPECT_DOUBLE_EQ(run.value(metric::mean).value(), 2000);
    EXPECT_DOUBLE_EQ(run.value(metric::errors).value(), 1);
    EXPECT_NEAR(run.value(metric::error_rate).value(), 1.0 / 3, 1e-9);
}

}  // namespace
}  // namespace pillion::load
