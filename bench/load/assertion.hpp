// assertion: a bound that a run must keep ("p99 < 5ms", "error_rate <= 0.1%", "rps >= 20000").
//
// Thread-safety: pure functions over values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::load {

enum class metric : std::uint8_t { p50, p90, p99, p999, p9999, max, mean, rps, errors, error_rate };

enum class comparison : std::uint8_t { less, less_equal, greater, greater_equal, equal };

struct assertion {
    std::string text;  // as it was given
    metric what = metric::p99;
    comparison how = comparison::less;
    double bound = 0;  // of latencies in ns, of error_rate a share of 1
};

// Whether a metric is a latency: unknown where there was no answer.
constexpr bool is_latency(metric m) noexcept { return m <= metric::mean; }

// "METRIC OP VALUE"; blanks are optional. Latencies need a unit. nullopt, with `fault` set, for
// anything else.
std::optional<assertion> parse_assertion(std::string_view text, std::string& fault);

// Whether `value` keeps the bound; nullopt stands for a latency that nobody measured, which keeps
// none.
bool holds(const assertion& bound, std::optional<double> value) noexcept;

}  // namespace pillion::load
