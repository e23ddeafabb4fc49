#include "compare.hpp"

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "file_text.hpp"
#include "json/document.hpp"
#include "json/pointer.hpp"

namespace pillion::load {

namespace {

constexpr int exit_fault = 1;
constexpr int exit_worse = 3;

struct row {
    const char* name;
    const char* pointer;
    bool more_is_better;
};
constexpr row rows[] = {
    {"ceiling/s", "/ceiling/rate", true},
    {"requests/s", "/rps", true},
    {"p50 µs", "/latency_us/p50", false},
    {"p90 µs", "/latency_us/p90", false},
    {"p99 µs", "/latency_us/p99", false},
    {"p99.9 µs", "/latency_us/p99.9", false},
    {"p99.99 µs", "/latency_us/p99.99", false},
    {"max µs", "/latency_us/max", false},
    {"mean µs", "/latency_us/mean", false},
    {"error rate", "/errors/rate", false},
    {"server CPU µs", "/server/cpu_us_per_request", false},
    {"server RSS B", "/server/rss_bytes", false},
    {"client CPU µs", "/client/cpu_us_per_request", false},
};
// What the client needs, and the one slowest answer, say nothing about the server: shown only.
constexpr bool is_judged(const row& r) {
    const std::string_view name = r.name;
    return !name.starts_with("max") && !name.starts_with("client");
}

std::optional<json::document> read_report(const std::string& path) {
    // A point for each second of a week is less.
    constexpr std::size_t report_bytes_max = std::size_t{256} << 20U;
    std::string why;
    const std::optional<std::string> text = read_text(path, why, report_bytes_max);
    if (!text) {
        std::fprintf(stderr, "pillion-bench: %s\n", why.c_str());
        return std::nullopt;
    }
    auto parsed = json::document::parse(*text);
    if (!parsed || !parsed->root()["pillion_bench"].is_string()) {
        std::fprintf(stderr, "pillion-bench: %s is no report of --json\n", path.c_str());
        return std::nullopt;
    }
    return std::move(*parsed);
}

// What does not belong to one setting cannot be compared; it is, but that is said.
void tell_differences(json::view before, json::view after) {
    for (const char* const name : {"scenario", "tool", "revision", "connections", "mode", "rate"}) {
        if (!json::equal(before[name], after[name])) {
            std::printf("note: the two differ in %s\n", name);
        }
    }
}

// By how much it became worse: 0.1 is 10 %.
double worsening(const row& r, double before, double after) {
    if (before <= 0) {
        return after > 0 && !r.more_is_better ? 1 : 0;
    }
    // Of what there is nothing any more no share is little enough.
    return !r.more_is_better ? after / before - 1 : after > 0 ? 1 - after / before : INFINITY;
}

// Prints the table of two runs; whether anything became worse than it may.
bool compare_runs(json::view before, json::view after, double fail_above) {
    tell_differences(before, after);
    std::printf("%-14s %14s %14s %8s\n", "", "before", "after", "ratio");
    bool worse = false;
    for (const row& r : rows) {
        const std::optional<double> a = json::resolve(before, r.pointer).f64();
        const std::optional<double> b = json::resolve(after, r.pointer).f64();
        if (!a || !b) {
            continue;
        }
        const bool failed = fail_above >= 0 && is_judged(r) && worsening(r, *a, *b) > fail_above;
        worse = worse || failed;
        char ratio[32] = "-";
        if (*a > 0) {
            std::snprintf(ratio, sizeof ratio, "%.3f", *b / *a);
        }
        // "µ" is two bytes of one column.
        const int width = std::string_view(r.name).find("µ") == std::string_view::npos ? 14 : 15;
        std::printf("%-*s %14.6g %14.6g %8s%s\n", width, r.name, *a, *b, ratio,
                    failed ? "  WORSE" : "");
    }
    return worse;
}

}  // namespace

int compare_reports(const compare_options& how) {
    const std::optional<json::document> before = read_report(how.before);
    const std::optional<json::document> after = before ? read_report(how.after) : std::nullopt;
    if (!after) {
        return exit_fault;
    }
    const json::view steps_before = before->root()["steps"];
    const json::view steps_after = after->root()["steps"];
    if (steps_before.size() != steps_after.size()) {
        std::fprintf(stderr, "pillion-bench: the two have not the same steps\n");
        return exit_fault;
    }
    if (steps_before.size() == 0) {
        return compare_runs(before->root(), after->root(), how.fail_above) ? exit_worse : 0;
    }
    bool worse = false;
    for (std::size_t i = 0; i < steps_before.size(); ++i) {
        std::printf("%sstep %zu\n", i == 0 ? "" : "\n", i + 1);
        worse = compare_runs(steps_before[i], steps_after[i], how.fail_above) || worse;
    }
    return worse ? exit_worse : 0;
}

}  // namespace pillion::load
