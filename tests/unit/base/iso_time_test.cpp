#include "base/iso_time.hpp"

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

TEST(iso_time, known_moments) {
    EXPECT_EQ(iso_time(0).text(), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(iso_time(-1).text(), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(iso_time(1'709'164'800'007).text(), "2024-02-29T00:00:00.007Z");
    EXPECT_EQ(iso_time(1'785'196'799'123).text(), "2026-07-27T23:59:59.123Z");
    EXPECT_EQ(iso_time(4'107'542'400'000).text(), "2100-03-01T00:00:00.000Z");
}

TEST(iso_time, what_has_no_text_becomes_the_nearest_that_has) {
    EXPECT_EQ(iso_time(INT64_MIN).text(), "0000-01-01T00:00:00.000Z");
    EXPECT_EQ(iso_time(INT64_MAX).text(), "9999-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace pillion::base
