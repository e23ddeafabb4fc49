// report: a run as text or a page for people, and as JSON for programs.
#pragma once

#include <string>

#include "options.hpp"
#include "run_result.hpp"

namespace pillion::load {

// Several lines.
std::string text_report(const run_options& how, const run_result& what);
// One JSON object, one line.
std::string json_report(const run_options& how, const run_result& what);
// A page of its own: the text, latency by percentile, and what happened when.
std::string html_report(const run_options& how, const run_result& what);
// One point of the series as a JSON object.
std::string json_point(const series_point& point);
// What a terminal is shown while the run goes on.
std::string progress_line(const series_point& point);

// Whether nothing was wrong and all assertions hold.
bool passed(const run_options& how, const run_result& what);

}  // namespace pillion::load
