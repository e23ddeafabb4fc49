#include <algorithm>
#include <cmath>

#include "chart.hpp"
#include "quantity.hpp"
#include "report.hpp"

namespace pillion::load {

namespace {

constexpr const char* style = R"(:root{color-scheme:light dark;--ink:#1c2024;--paper:#fff;
--grid:#e2e5e9;--soft:#5b6470;--c1:#0b63ce;--c2:#c2410c;--c3:#6d28d9}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--paper:#14171a;--grid:#2b3138;
--soft:#98a2ae;--c1:#62a8ff;--c2:#ff9a5c;--c3:#b79bff}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;
max-width:900px;padding:0 1rem}h1{font-size:1.3rem}h2{font-size:1rem;margin:2rem 0 .3rem}
pre{font:13px/1.5 ui-monospace,monospace;overflow-x:auto}
svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
.grid{stroke:var(--grid)}polyline{fill:none;stroke-width:1.8;stroke-linejoin:round}
line{stroke-width:1.8}line.grid{stroke-width:1}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}
.c3{stroke:var(--c3)}circle.c1{fill:var(--c1)}circle.c2{fill:var(--c2)}circle.c3{fill:var(--c3)}
)";

std::string show_seconds(double s) {
    std::string text = std::to_string(s);
    text.erase(text.find_last_not_of('0') + 1);
    text.erase(text.find_last_not_of('.') + 1);
    return text + " s";
}

double log_ns(std::int64_t ns) {
    return std::log10(static_cast<double>(std::max<std::int64_t>(ns, 1)));
}

// Ends where the run does.
chart_axis time_axis(const std::vector<series_point>& series) {
    const double end = series.back().end_s;
    chart_axis axis = linear_axis(end, &show_seconds);
    axis.to = end;
    while (axis.ticks.back().first > end * 1.0001) {
        axis.ticks.pop_back();
    }
    return axis;
}

// Latency by percentile: each nine has the same width, as far as there are samples for it.
std::string percentile_chart(const latency_histogram& latency) {
    constexpr double steps_per_nine = 40;
    const double nines = std::max(1.0, std::log10(static_cast<double>(latency.count())));
    chart_line line{"latency", 1, {}};
    for (double at = 0; at <= nines * steps_per_nine; at += 1) {
        const double rest = std::pow(10, -at / steps_per_nine);
        const double percent = std::clamp(100 * (1 - rest), 1e-6, 100.0);
        line.points.emplace_back(at / steps_per_nine, log_ns(latency.percentile_ns(percent)));
    }
    line.points.emplace_back(nines, log_ns(latency.max_ns()));
    chart_axis x;
    x.to = nines;
    constexpr std::pair<double, const char*> marks[] = {
        {0, "0 %"},  {0.30103, "50"}, {1, "90"},     {2, "99"},
        {3, "99.9"}, {4, "99.99"},    {5, "99.999"}, {6, "99.9999"},
    };
    for (const auto& [at, label] : marks) {
        if (at <= nines) {
            x.ticks.emplace_back(at, label);
        }
    }
    const auto least = static_cast<double>(std::max<std::int64_t>(latency.min_ns(), 1));
    const chart_axis y = log_axis(least, static_cast<double>(latency.max_ns()), &show_duration);
    return draw_chart("Latency by percentile", x, y, {line});
}

std::string rate_chart(const std::vector<series_point>& series) {
    chart_line good{"requests/s", 1, {}};
    chart_line bad{"errors/s", 2, {}};
    chart_line due{"asked/s", 3, {}};
    double most = 1;
    for (const series_point& point : series) {
        const double ok = static_cast<double>(point.ok) / point.seconds;
        const double errors = static_cast<double>(point.errors) / point.seconds;
        good.points.emplace_back(point.end_s, ok);
        bad.points.emplace_back(point.end_s, errors);
        due.points.emplace_back(point.end_s, point.rate);
        most = std::max({most, ok, errors, point.rate});
    }
    std::vector<chart_line> lines{good, bad};
    if (series.front().rate > 0) {
        lines.insert(lines.begin(), due);
    }
    return draw_chart("Requests and errors by second", time_axis(series),
                      linear_axis(most, &show_count), lines);
}

std::string latency_chart(const std::vector<series_point>& series) {
    chart_line p50{"p50", 1, {}};
    chart_line p99{"p99", 2, {}};
    chart_line max{"max", 3, {}};
    std::int64_t least = INT64_MAX;
    std::int64_t most = 1;
    for (const series_point& point : series) {
        if (point.ok == 0) {
            continue;
        }
        p50.points.emplace_back(point.end_s, log_ns(point.p50_ns));
        p99.points.emplace_back(point.end_s, log_ns(point.p99_ns));
        max.points.emplace_back(point.end_s, log_ns(point.max_ns));
        least = std::min(least, std::max<std::int64_t>(point.p50_ns, 1));
        most = std::max(most, point.max_ns);
    }
    if (p50.points.empty()) {
        return {};
    }
    const chart_axis y =
        log_axis(static_cast<double>(least), static_cast<double>(most), &show_duration);
    return draw_chart("Latency by second", time_axis(series), y, {p50, p99, max});
}

// Of more than one run: latency by what was asked of them.
std::string step_chart(const bench_result& all) {
    const bool by_rate = all.ceiling || !all.one().how.rate_steps.empty();
    std::vector<std::pair<double, const latency_histogram*>> points;
    for (const step& one : all.steps) {
        const double at = by_rate ? one.how.rate : static_cast<double>(one.how.connections);
        // The first run of a search is in closed loop.
        if (at > 0 && one.what.latency.count() > 0) {
            points.emplace_back(at, &one.what.latency);
        }
    }
    if (points.empty()) {
        return {};
    }
    std::sort(points.begin(), points.end());
    chart_line p50{"p50", 1, {}};
    chart_line p99{"p99", 2, {}};
    chart_line max{"max", 3, {}};
    std::int64_t least = INT64_MAX;
    std::int64_t most = 1;
    for (const auto& [at, latency] : points) {
        p50.points.emplace_back(at, log_ns(latency->percentile_ns(50)));
        p99.points.emplace_back(at, log_ns(latency->percentile_ns(99)));
        max.points.emplace_back(at, log_ns(latency->max_ns()));
        least = std::min(least, std::max<std::int64_t>(latency->percentile_ns(50), 1));
        most = std::max(most, latency->max_ns());
    }
    const std::string title = by_rate ? "Latency by requests/s" : "Latency by connections";
    const chart_axis y =
        log_axis(static_cast<double>(least), static_cast<double>(most), &show_duration);
    return "<h2>" + title + "</h2>\n" +
           draw_chart(title, linear_axis(points.back().first, &show_count), y, {p50, p99, max});
}

void add_run(std::string& to, const step& one) {
    const run_result& what = one.what;
    to += "<pre>" + escape_markup(text_report(one)) + "</pre>\n";
    if (what.latency.count() > 0) {
        to += "<h2>Latency by percentile</h2>\n" + percentile_chart(what.latency);
    }
    // One point is no line; the text says as much.
    if (what.series.size() > 1) {
        to += "<h2>Requests</h2>\n" + rate_chart(what.series);
        to += "<h2>Latency by second</h2>\n" + latency_chart(what.series);
    }
}

}  // namespace

std::string html_report(const bench_result& all) {
    std::string to =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<title>pillion-bench</title>\n<style>";
    to += style;
    to += "</style></head><body>\n<h1>pillion-bench</h1>\n";
    if (all.is_list() || all.ceiling) {
        to += "<pre>" + escape_markup(step_table(all)) + "</pre>\n" + step_chart(all);
    }
    if (all.is_list()) {
        for (const step& one : all.steps) {
            add_run(to, one);
        }
    } else {
        add_run(to, all.one());
    }
    return to + "</body></html>\n";
}

}  // namespace pillion::load
