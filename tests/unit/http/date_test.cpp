// Goal: IMF-fixdate agrees with the C library's calendar for every day of two centuries, leap years
// and century rules included.

#include "http/date.hpp"

#include <time.h>
#include <string>

#include <gtest/gtest.h>

namespace pillion::http {
namespace {

std::string format(std::int64_t seconds) {
    char text[date_bytes];
    format_date(seconds, text);
    return {text, date_bytes};
}

TEST(date, known_moments) {
    EXPECT_EQ(format(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(format(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(format(951'827'696), "Tue, 29 Feb 2000 12:34:56 GMT");
    EXPECT_EQ(format(1'709'251'199), "Thu, 29 Feb 2024 23:59:59 GMT");
    EXPECT_EQ(format(1'709'251'200), "Fri, 01 Mar 2024 00:00:00 GMT");
    EXPECT_EQ(format(4'107'542'400), "Mon, 01 Mar 2100 00:00:00 GMT");
    EXPECT_EQ(format(4'107'542'399), "Sun, 28 Feb 2100 23:59:59 GMT");
}

TEST(date, every_day_until_2200_agrees_with_gmtime) {
    for (std::int64_t day = 0; day < 84'000; ++day) {
        const time_t seconds = day * 86'400 + (day * 7919) % 86'400;
        struct tm parts = {};
        gmtime_r(&seconds, &parts);
        char want[40];
        strftime(want, sizeof want, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        ASSERT_EQ(format(seconds), want);
    }
}

TEST(date, out_of_range_is_clamped) {
    EXPECT_EQ(format(-1), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(format(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST(date, cache_follows_the_second) {
    date_cache cache;
    EXPECT_EQ(cache.at(0), format(0));
    EXPECT_EQ(cache.at(0), format(0));
    EXPECT_EQ(cache.at(1), format(1));
    EXPECT_EQ(cache.at(0), format(0));
}

}  // namespace
}  // namespace pillion::http
