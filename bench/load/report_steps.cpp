#include <initializer_list>

#include "quantity.hpp"
#include "report.hpp"

namespace pillion::load {

namespace {

// Together 93 columns, which a page has room for.
constexpr std::size_t widths[] = {12, 12, 10, 10, 10, 10, 8, 12, 9};

void add_row(std::string& to, std::initializer_list<std::string> cells) {
    const std::size_t* width = widths;
    for (const std::string& cell : cells) {
        to += cell.empty() ? "" : right_aligned(cell, *width++);
    }
    to += "\n";
}

std::string server_cpu(const run_result& run) {
    return run.server && run.answers_watched > 0
               ? show_duration(static_cast<double>(run.server->cpu_ns) /
                               static_cast<double>(run.answers_watched))
               : "-";
}

std::string asked_of(const run_options& how, bool by_rate) {
    return !by_rate       ? show_count(static_cast<double>(how.connections))
           : how.rate > 0 ? show_count(how.rate)
                          : "all it can";
}

}  // namespace

std::string step_table(const bench_result& all) {
    const bool by_rate = all.ceiling || !all.one().how.rate_steps.empty();
    std::string to;
    add_row(to, {by_rate ? "asked/s" : "connections", "requests/s", "p50", "p90", "p99", "max",
                 "errors", "server CPU", all.ceiling ? "promise" : ""});
    for (const step& one : all.steps) {
        const run_result& run = one.what;
        const auto latency = [&run](metric of) {
            const std::optional<double> ns = run.value(of);
            return ns ? show_duration(*ns) : "-";
        };
        // The first of a search is in closed loop, and has nothing to keep.
        const char* const met = !all.ceiling || one.how.rate <= 0 ? "" : one.met ? "met" : "missed";
        add_row(to, {asked_of(one.how, by_rate), show_count(run.rps()), latency(metric::p50),
                     latency(metric::p90), latency(metric::p99), latency(metric::max),
                     show_count(static_cast<double>(run.counts.errors())), server_cpu(run), met});
    }
    if (all.ceiling) {
        to += *all.ceiling > 0
                  ? "The highest rate that meets it: " + show_count(*all.ceiling) + " requests/s.\n"
                  : "No rate that was tried meets it.\n";
    }
    return to;
}

}  // namespace pillion::load
