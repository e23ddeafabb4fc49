#include "assertion.hpp"

#include "base/ascii.hpp"
#include "quantity.hpp"

namespace pillion::load {

namespace {

struct metric_name {
    std::string_view name;
    metric what;
};
constexpr metric_name metrics[] = {
    {"p50", metric::p50},       {"p90", metric::p90},
    {"p99", metric::p99},       {"p99.9", metric::p999},
    {"p99.99", metric::p9999},  {"max", metric::max},
    {"mean", metric::mean},     {"rps", metric::rps},
    {"errors", metric::errors}, {"error_rate", metric::error_rate},
};

struct comparison_name {
    std::string_view name;
    comparison how;
};
// The longer ones first.
constexpr comparison_name comparisons[] = {
    {"<=", comparison::less_equal}, {">=", comparison::greater_equal}, {"==", comparison::equal},
    {"<", comparison::less},        {">", comparison::greater},
};

std::optional<double> parse_bound(metric what, std::string_view text) {
    if (what == metric::error_rate) {
        return parse_share(text);
    }
    if (!is_latency(what)) {
        return parse_number(text);
    }
    const std::optional<std::int64_t> ns = parse_duration_ns(text);
    return ns ? std::optional<double>(static_cast<double>(*ns)) : std::nullopt;
}

}  // namespace

std::optional<assertion> parse_assertion(std::string_view text, std::string& fault) {
    const std::size_t sign = text.find_first_of("<>=");
    const std::string_view name = base::trim_ows(text.substr(0, sign));
    assertion out;
    out.text = text;
    const metric_name* found = nullptr;
    for (const metric_name& m : metrics) {
        found = m.name == name ? &m : found;
    }
    if (found == nullptr) {
        fault = "\"" + out.text +
                "\": not one of p50, p90, p99, p99.9, p99.99, max, mean, rps, errors, error_rate";
        return std::nullopt;
    }
    out.what = found->what;
    const std::string_view rest = sign == std::string_view::npos ? "" : text.substr(sign);
    for (const comparison_name& c : comparisons) {
        if (!rest.starts_with(c.name)) {
            continue;
        }
        out.how = c.how;
        const std::optional<double> bound =
            parse_bound(out.what, base::trim_ows(rest.substr(c.name.size())));
        if (!bound) {
            break;
        }
        out.bound = *bound;
        return out;
    }
    fault = "\"" + out.text + "\": expected " + std::string(name) + " <, <=, >, >= or ==, and " +
            (is_latency(out.what)             ? "a duration such as 5ms"
             : out.what == metric::error_rate ? "a share such as 0.1%"
                                              : "a number");
    return std::nullopt;
}

bool holds(const assertion& bound, std::optional<double> value) noexcept {
    if (!value) {
        return false;
    }
    switch (bound.how) {
        case comparison::less:
            return *value < bound.bound;
        case comparison::less_equal:
            return *value <= bound.bound;
        case comparison::greater:
            return *value > bound.bound;
        case comparison::greater_equal:
            return *value >= bound.bound;
        case comparison::equal:
            break;
    }
    return !(*value < bound.bound) && !(*value > bound.bound);
}

}  // namespace pillion::load
