#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include <pillion/version.hpp>

#include "quantity.hpp"
#include "report.hpp"

namespace pillion::load {

namespace {

[[gnu::format(printf, 2, 3)]] void add(std::string& to, const char* form, ...) {
    char line[512];
    std::va_list values;
    va_start(values, form);
    std::vsnprintf(line, sizeof line, form, values);
    va_end(values);
    to += line;
}

std::string scenario_of(const scenario& what) {
    if (what.name == "ping") {
        return std::string(method_of(action::ping, what.modern()));
    }
    return what.name + (what.has_tool() ? " " + what.questions[0].name : "");
}

void add_head(std::string& to, const run_options& how, const run_result& what) {
    const std::string rates = how.is_ramp()
                                  ? show_count(how.rate) + " to " + show_count(how.rate_to)
                                  : show_count(how.rate);
    const std::string mode = how.rate > 0 ? "open loop, " + rates + " requests/s" : "closed loop";
    add(to, "pillion-bench %s: %s, %s, %s\n", pillion::version, scenario_of(how.what).c_str(),
        std::string(name_of(how.what.rev)).c_str(), how.to.text.c_str());
    add(to, "%zu connections, %s, %.1f s after %.1f s of warm-up, client on %s%s%s\n\n",
        how.connections, mode.c_str(), what.seconds, static_cast<double>(how.warm_up_ns) / 1e9,
        what.backend.c_str(), how.spin ? ", which never sleeps" : "",
        how.unchecked ? ", answers not checked" : "");
}

void add_latency(std::string& to, const run_result& what) {
    constexpr std::pair<const char*, metric> columns[] = {
        {"p50", metric::p50},    {"p90", metric::p90},      {"p99", metric::p99},
        {"p99.9", metric::p999}, {"p99.99", metric::p9999}, {"max", metric::max},
        {"mean", metric::mean},
    };
    std::string values;
    to += "latency ";
    for (const auto& [name, of] : columns) {
        const std::optional<double> ns = what.value(of);
        to += right_aligned(name, 10);
        values += right_aligned(ns ? show_duration(*ns) : "-", 10);
    }
    to += "\n        " + values + "\n";
}

void add_errors(std::string& to, const tally& counts) {
    for (std::size_t i = 1; i < faults; ++i) {
        const auto of = static_cast<fault>(i);
        if (counts.errors(of) == 0) {
            continue;
        }
        add(to, "  %-12s %s", std::string(name_of(of)).c_str(),
            show_count(static_cast<double>(counts.errors(of))).c_str());
        if (!counts.example(of).empty()) {
            add(to, "   first: %s", counts.example(of).c_str());
        }
        to += "\n";
    }
    for (const auto& [code, times] : counts.rpc_codes()) {
        add(to, "  code %-7lld %llu\n", static_cast<long long>(code),
            static_cast<unsigned long long>(times));
    }
}

// The revision that is asked for unless another is said is the newest.
void add_advice(std::string& to, const run_options& how, const tally& counts) {
    const std::uint64_t refused = counts.errors(fault::http_4xx) + counts.errors(fault::rpc_error);
    const std::string_view status = std::string_view(counts.example(fault::http_4xx)).substr(0, 3);
    const bool is_about_who_asks = status == "401" || status == "403" || status == "429";
    if (how.what.modern() && counts.ok == 0 && refused == counts.errors() && refused > 0 &&
        !is_about_who_asks) {
        to += "  if the server is older than 2026-07-28: -r auto finds what it speaks\n";
    }
}

void add_machine(std::string& to, const run_result& what) {
    const double answers = static_cast<double>(what.answers_watched);
    if (!what.pids.empty() && !what.server) {
        to += "server      a process that was watched has ended, and what it used is not known\n";
    }
    if (what.server && answers > 0) {
        const double cpu_ns = static_cast<double>(what.server->cpu_ns);
        add(to,
            "server      %.2f µs CPU per request, %.0f %% of a core, RSS %s, %.3f context "
            "switches per request\n",
            cpu_ns / 1e3 / answers, what.seconds > 0 ? cpu_ns / 1e7 / what.seconds : 0,
            show_bytes(static_cast<double>(what.server->rss_bytes)).c_str(),
            static_cast<double>(what.server->switches) / answers);
    }
    if (answers > 0 && !what.client_spins) {
        add(to, "client      %.2f µs CPU per request, %.0f %% of its core\n",
            static_cast<double>(what.client_cpu_watched_ns) / 1e3 / answers,
            100 * what.client_share());
    }
    if (what.client_was_bottleneck() && answers > 0) {
        add(to,
            "The client was the bottleneck: its one thread was busy all the time, and cannot ask "
            "for "
            "more than\n%s/s of these. The server may be faster than this.\n",
            show_count(1e9 * answers / static_cast<double>(what.client_cpu_watched_ns)).c_str());
    }
}

}  // namespace

std::string text_report(const step& one) {
    const run_options& how = one.how;
    const run_result& what = one.what;
    std::string to;
    add_head(to, how, what);
    const double errors = static_cast<double>(what.counts.errors());
    add(to, "requests    %s answered, %s/s, %s errors (%.3g %%)\n",
        show_count(static_cast<double>(what.counts.ok)).c_str(), show_count(what.rps()).c_str(),
        show_count(errors).c_str(), 100 * what.counts.error_rate());
    add_errors(to, what.counts);
    add_advice(to, how, what.counts);
    add_latency(to, what);
    add(to, "bytes       %s in, %s out, %s reconnects\n",
        show_bytes(static_cast<double>(what.counts.bytes_in)).c_str(),
        show_bytes(static_cast<double>(what.counts.bytes_out)).c_str(),
        show_count(static_cast<double>(what.counts.reconnects)).c_str());
    if (const char* const events = events_of(how.what.how)) {
        add(to, "%-11s %s\n", events, show_count(static_cast<double>(what.counts.events)).c_str());
    }
    add_machine(to, what);
    for (const assertion& a : how.assertions) {
        const std::optional<double> value = what.value(a.what);
        const std::string shown = !value               ? "nothing was answered"
                                  : is_latency(a.what) ? show_duration(*value)
                                  : a.what == metric::error_rate
                                      ? std::to_string(*value * 100) + " %"
                                      : show_count(*value);
        add(to, "%s %s (%s)\n", holds(a, value) ? "ok    " : "FAILED", a.text.c_str(),
            shown.c_str());
    }
    return to;
}

std::string progress_line(const series_point& point) {
    std::string to;
    const double per_second = static_cast<double>(point.ok) / point.seconds;
    add(to, "%5.0f s  %s/s  p50 %s  p99 %s  max %s  %llu errors", point.end_s,
        show_count(per_second).c_str(), show_duration(static_cast<double>(point.p50_ns)).c_str(),
        show_duration(static_cast<double>(point.p99_ns)).c_str(),
        show_duration(static_cast<double>(point.max_ns)).c_str(),
        static_cast<unsigned long long>(point.errors));
    return to;
}

std::string text_report(const bench_result& all) {
    if (!all.is_list()) {
        return (all.ceiling ? step_table(all) + "\n" : "") + text_report(all.one());
    }
    std::string to = step_table(all);
    for (const step& one : all.steps) {
        to += "\n" + text_report(one);
    }
    return to;
}

bool passed(const bench_result& all) {
    return all.is_list() ? std::all_of(all.steps.begin(), all.steps.end(),
                                       [](const step& one) { return passed(one); })
                         : passed(all.one()) && all.ceiling.value_or(1) > 0;
}

bool passed(const step& one) {
    const run_options& how = one.how;
    const run_result& what = one.what;
    for (const assertion& a : how.assertions) {
        if (!holds(a, what.value(a.what))) {
            return false;
        }
    }
    // Who says how many errors are too many is not told that any is; a run of nothing shows
    // nothing.
    for (const auto* const bounds : {&how.assertions, &how.slo}) {
        for (const assertion& a : *bounds) {
            if (a.what == metric::errors || a.what == metric::error_rate) {
                return what.counts.errors() + what.counts.ok > 0;
            }
        }
    }
    return what.counts.errors() == 0 && what.counts.ok > 0;
}

}  // namespace pillion::load
