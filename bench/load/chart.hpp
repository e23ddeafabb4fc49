// chart: a line chart as SVG, for reports: no script, colours by CSS classes, so that one drawing
// serves light and dark.
//
// Start-up and end-of-run code: allocates.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pillion::load {

// Text as HTML or SVG shows it.
std::string escape_markup(std::string_view text);

// One axis: its ends, and the ticks with their labels.
struct chart_axis {
    double from = 0;
    double to = 1;
    std::vector<std::pair<double, std::string>> ticks;
};

// Ticks at 1, 2 or 5 times a power of ten, from 0 to at least `most`; labels by show().
chart_axis linear_axis(double most, std::string (*show)(double));
// Powers of ten around all of [least, most], which are above 0. The values of such an axis are
// decimal logarithms.
chart_axis log_axis(double least, double most, std::string (*show)(double));

struct chart_line {
    std::string name;
    int colour = 1;  // 1, 2 or 3
    std::vector<std::pair<double, double>> points;
};

// The drawing, with a title for those who cannot see it.
std::string draw_chart(const std::string& title, const chart_axis& x, const chart_axis& y,
                       const std::vector<chart_line>& lines);

}  // namespace pillion::load
