// report: a run as text or a page for people, and as JSON for programs.
#pragma once

#include <string>

#include "bench.hpp"

namespace pillion::load {

// Several lines of a run, and a line for each step of more than one.
std::string text_report(const bench_result& all);
std::string text_report(const step& one);
// The line for each step, and what a search came to.
std::string step_table(const bench_result& all);
// One JSON object, one line.
std::string json_report(const bench_result& all);
// A page of its own: the text, latency by percentile, and what happened when.
std::string html_report(const bench_result& all);
// One point of the series as a JSON object.
std::string json_point(const series_point& point);
// What a terminal is shown while the run goes on.
std::string progress_line(const series_point& point);

// Whether nothing was wrong and all assertions hold.
bool passed(const step& one);
// Of a list in each step; of a search in its best one, where there is one.
bool passed(const bench_result& all);

}  // namespace pillion::load
