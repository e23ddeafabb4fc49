// Goal: quantities are read strictly and shown shortly.

#include "bench/load/quantity.hpp"

#include <gtest/gtest.h>

namespace pillion::load {
namespace {

TEST(quantity, durations) {
    EXPECT_EQ(parse_duration_ns("10s"), 10'000'000'000);
    EXPECT_EQ(parse_duration_ns("1.5ms"), 1'500'000);
    EXPECT_EQ(parse_duration_ns("300us"), 300'000);
    EXPECT_EQ(parse_duration_ns("300µs"), 300'000);
    EXPECT_EQ(parse_duration_ns("7ns"), 7);
    EXPECT_EQ(parse_duration_ns("2m"), 120'000'000'000);
    EXPECT_EQ(parse_duration_ns("1h"), 3'600'000'000'000);
    EXPECT_EQ(parse_duration_ns("5 ms"), 5'000'000);
    EXPECT_EQ(parse_duration_ns("0s"), 0);
    for (const char* const bad : {"", "5", "s", "-1s", "+1s", "1e3s", "1.2.3s", "1 s ", "1  s",
                                  " 1s", "1S", "1sec", "inf", "nans", "9999h", "0x1s"}) {
        EXPECT_EQ(parse_duration_ns(bad), std::nullopt) << bad;
    }
}

TEST(quantity, shares_and_numbers) {
    EXPECT_DOUBLE_EQ(parse_share("10%").value(), 0.1);
    EXPECT_DOUBLE_EQ(parse_share("0.1 %").value(), 0.001);
    EXPECT_DOUBLE_EQ(parse_share("0.05").value(), 0.05);
    for (const char* const bad : {"", "%", "-1%", "1%%", "ten", "nan", "inf", "1e2"}) {
        EXPECT_EQ(parse_share(bad), std::nullopt) << bad;
    }
}

TEST(quantity, shown) {
    EXPECT_EQ(show_duration(412'345), "412 µs");
    EXPECT_EQ(show_duration(1'254'000), "1.25 ms");
    EXPECT_EQ(show_duration(99.7), "100 ns");
    EXPECT_EQ(show_duration(999'999), "1.00 ms");
    EXPECT_EQ(show_duration(12.34e9), "12.3 s");
    EXPECT_EQ(show_count(1'234'567.4), "1 234 567");
    EXPECT_EQ(show_count(999), "999");
    EXPECT_EQ(show_count(2), "2");
    // Ticks of an axis and slow rates, which were "0", "1", "1", "2".
    EXPECT_EQ(show_count(0.4), "0.4");
    EXPECT_EQ(show_count(1.5), "1.5");
    EXPECT_EQ(show_count(9.97), "10");
    EXPECT_EQ(show_bytes(512), "512 B");
    EXPECT_EQ(show_bytes(1536), "1.50 KiB");
}

}  // namespace
}  // namespace pillion::load
