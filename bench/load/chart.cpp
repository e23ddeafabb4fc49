#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace pillion::load {

namespace {

constexpr double width = 760;
constexpr double height = 280;
constexpr double left = 76;
constexpr double right = 28;  // half of a label
constexpr double top = 30;
constexpr double bottom = 30;

std::string figure(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

double place_of(const chart_axis& axis, double value, double begin, double end) {
    const double share = (value - axis.from) / (axis.to - axis.from);
    return begin + std::clamp(share, 0.0, 1.0) * (end - begin);
}
double place_x(const chart_axis& axis, double value) {
    return place_of(axis, value, left, width - right);
}
double place_y(const chart_axis& axis, double value) {
    return place_of(axis, value, height - bottom, top);
}

void add_text(std::string& to, double x, double y, const char* anchor, const std::string& text) {
    to += "<text x=\"" + figure(x) + "\" y=\"" + figure(y) + "\" text-anchor=\"" + anchor + "\">" +
          escape_markup(text) + "</text>\n";
}

void add_grid(std::string& to, const chart_axis& x, const chart_axis& y) {
    for (const auto& [value, label] : y.ticks) {
        const std::string at = figure(place_y(y, value));
        to += "<line class=\"grid\" x1=\"" + figure(left) + "\" x2=\"" + figure(width - right) +
              "\" y1=\"" + at + "\" y2=\"" + at + "\"/>\n";
        add_text(to, left - 6, place_y(y, value) + 4, "end", label);
    }
    for (const auto& [value, label] : x.ticks) {
        const std::string at = figure(place_x(x, value));
        to += "<line class=\"grid\" y1=\"" + figure(top) + "\" y2=\"" + figure(height - bottom) +
              "\" x1=\"" + at + "\" x2=\"" + at + "\"/>\n";
        add_text(to, place_x(x, value), height - bottom + 18, "middle", label);
    }
}

}  // namespace

std::string escape_markup(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out.push_back(c);
        }
    }
    return out;
}

chart_axis linear_axis(double most, std::string (*show)(double)) {
    most = std::max(most, 1e-9);
    const double power = std::pow(10, std::floor(std::log10(most)));
    const double lead = most / power;
    const double step = power * (lead > 5 ? 2 : lead > 2 ? 1 : 0.5);
    chart_axis axis;
    axis.to = step * std::ceil(most / step - 1e-9);
    const auto steps = static_cast<int>(std::lround(axis.to / step));
    for (int i = 0; i <= steps; ++i) {
        axis.ticks.emplace_back(i * step, show(i * step));
    }
    return axis;
}

chart_axis log_axis(double least, double most, std::string (*show)(double)) {
    chart_axis axis;
    axis.from = std::floor(std::log10(least) + 1e-9);
    axis.to = std::max(std::ceil(std::log10(most) - 1e-9), axis.from + 1);
    for (double power = axis.from; power <= axis.to + 0.5; power += 1) {
        axis.ticks.emplace_back(power, show(std::pow(10, power)));
    }
    return axis;
}

std::string draw_chart(const std::string& title, const chart_axis& x, const chart_axis& y,
                       const std::vector<chart_line>& lines) {
    std::string to = "<svg viewBox=\"0 0 " + figure(width) + " " + figure(height) +
                     "\" role=\"img\"><title>" + escape_markup(title) + "</title>\n";
    add_grid(to, x, y);
    double legend = left;
    for (const chart_line& line : lines) {
        const std::string colour = "c" + std::to_string(line.colour);
        to += "<polyline class=\"" + colour + "\" points=\"";
        for (const auto& [at, value] : line.points) {
            to += figure(place_x(x, at)) + "," + figure(place_y(y, value)) + " ";
        }
        to += "\"/>\n";
        // A run of one second is a dot.
        if (line.points.size() == 1) {
            to += "<circle class=\"" + colour + "\" r=\"3\" cx=\"" +
                  figure(place_x(x, line.points[0].first)) + "\" cy=\"" +
                  figure(place_y(y, line.points[0].second)) + "\"/>\n";
        }
        to += "<line class=\"" + colour + "\" x1=\"" + figure(legend) + "\" x2=\"" +
              figure(legend + 18) + "\" y1=\"14\" y2=\"14\"/>\n";
        add_text(to, legend + 24, 18, "start", line.name);
        legend += 44 + 8 * static_cast<double>(line.name.size());
    }
    return to + "</svg>\n";
}

}  // namespace pillion::load
