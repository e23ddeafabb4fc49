#include "run_result.hpp"

namespace pillion::load {

std::optional<double> run_result::value(metric of) const noexcept {
    if (is_latency(of) && latency.count() == 0) {
        return std::nullopt;
    }
    const auto at = [this](double percent) {
        return static_cast<double>(latency.percentile_ns(percent));
    };
    switch (of) {
        case metric::p50:
            return at(50);
        case metric::p90:
            return at(90);
        case metric::p99:
            return at(99);
        case metric::p999:
            return at(99.9);
        case metric::p9999:
            return at(99.99);
        case metric::max:
            return static_cast<double>(latency.max_ns());
        case metric::mean:
            return latency.mean_ns();
        case metric::rps:
            return rps();
        case metric::errors:
            return static_cast<double>(counts.errors());
        case metric::error_rate:
            break;
    }
    return counts.error_rate();
}

}  // namespace pillion::load
