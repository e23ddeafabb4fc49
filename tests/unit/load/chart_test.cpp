// Goal: axes hold what is drawn, and drawings are markup whatever a server said.

#include "bench/load/chart.hpp"

#include <gtest/gtest.h>

#include "bench/load/quantity.hpp"

namespace pillion::load {
namespace {

TEST(chart, linear_axes_hold_the_largest_value) {
    for (double most = 0.01; most < 1e7; most *= 1.37) {
        const chart_axis axis = linear_axis(most, &show_count);
        EXPECT_EQ(axis.from, 0);
        EXPECT_GE(axis.to, most * (1 - 1e-9));
        EXPECT_LE(axis.to, most * 2);
        EXPECT_GE(axis.ticks.size(), 3U);
        EXPECT_LE(axis.ticks.size(), 8U);
        EXPECT_NEAR(axis.ticks.back().first, axis.to, axis.to * 1e-9);
    }
}

TEST(chart, log_axes_hold_all_values) {
    const chart_axis axis = log_axis(45'000, 2'100'000, &show_duration);
    EXPECT_EQ(axis.from, 4);
    EXPECT_EQ(axis.to, 7);
    ASSERT_EQ(axis.ticks.size(), 4U);
    EXPECT_EQ(axis.ticks[0].second, "10.0 µs");
    EXPECT_EQ(log_axis(1000, 1000, &show_duration).ticks.size(), 2U);
}

TEST(chart, markup_is_escaped) {
    EXPECT_EQ(escape_markup("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    const std::string drawn = draw_chart("<t>", linear_axis(10, &show_count),
                                         linear_axis(10, &show_count), {{"<n>", 1, {{5, 5}}}});
    EXPECT_NE(drawn.find("&lt;t&gt;"), std::string::npos);
    EXPECT_NE(drawn.find("&lt;n&gt;"), std::string::npos);
    EXPECT_EQ(drawn.find("<n>"), std::string::npos);
    EXPECT_NE(drawn.find("<circle"), std::string::npos);
}

TEST(chart, points_are_where_they_belong) {
    chart_axis unit;
    const std::string drawn = draw_chart("t", unit, unit, {{"n", 2, {{0, 0}, {1, 1}, {2, -1}}}});
    // Left below, right above, and what is outside at the edge.
    EXPECT_NE(drawn.find("points=\"76.0,250.0 732.0,30.0 732.0,250.0 \""), std::string::npos)
        << drawn;
}

}  // namespace
}  // namespace pillion::load
