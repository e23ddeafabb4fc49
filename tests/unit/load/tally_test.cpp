// Goal: errors are counted by class, with one example of each that is safe to show.

#include "bench/load/tally.hpp"

#include <gtest/gtest.h>

namespace pillion::load {
namespace {

TEST(tally, classes_and_the_first_example) {
    tally t;
    t.add_error({fault::http_5xx}, "first");
    t.add_error({fault::http_5xx}, "second");
    t.add_error({fault::reset}, "");
    EXPECT_EQ(t.errors(), 3U);
    EXPECT_EQ(t.errors(fault::http_5xx), 2U);
    EXPECT_EQ(t.example(fault::http_5xx), "first");
    EXPECT_EQ(name_of(fault::http_5xx), "http_5xx");
    EXPECT_EQ(name_of(fault::unexpected), "unexpected");
    EXPECT_EQ(name_of(fault::tool_error), "tool_error");
}

TEST(tally, examples_cannot_steer_a_terminal) {
    tally t;
    t.add_error({fault::malformed}, "a\x1b[2J\r\n\xff" + std::string(1000, 'x'));
    EXPECT_TRUE(t.example(fault::malformed).starts_with("a.[2J..."));
    EXPECT_LE(t.example(fault::malformed).size(), 160U);
}

TEST(tally, codes_of_json_rpc_are_bounded) {
    tally t;
    for (std::int64_t code = 1; code <= 1000; ++code) {
        t.add_error({fault::rpc_error, code}, "");
    }
    t.add_error({fault::rpc_error, 1}, "");
    EXPECT_LE(t.rpc_codes().size(), 33U);
    EXPECT_EQ(t.rpc_codes().at(1), 2U);
    EXPECT_EQ(t.rpc_codes().at(0), 1000U - 32U);
}

TEST(tally, rate) {
    tally t;
    EXPECT_EQ(t.error_rate(), 0);
    t.add_error({fault::refused}, "");
    EXPECT_EQ(t.error_rate(), 1);
    t.ok = 3;
    EXPECT_DOUBLE_EQ(t.error_rate(), 0.25);
}

}  // namespace
}  // namespace pillion::load
