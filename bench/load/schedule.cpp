#include "schedule.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "quantity.hpp"

namespace pillion::load {

namespace {

constexpr double rate_min = 0.001;
constexpr double rate_max = 10'000'000;

bool parse_rate(std::string_view text, double& to) {
    const std::optional<double> rate = parse_number(text);
    to = rate.value_or(0);
    return to >= rate_min && to <= rate_max;
}

// Calls take() with each part between commas until it says no.
template <class Take>
bool each_part(std::string_view text, const Take& take) {
    while (true) {
        const std::size_t comma = text.find(',');
        if (!take(text.substr(0, comma))) {
            return false;
        }
        if (comma == std::string_view::npos) {
            return true;
        }
        text.remove_prefix(comma + 1);
    }
}

}  // namespace

std::int64_t schedule::due_ns(std::uint64_t number) const noexcept {
    const double before = from_ * warm_up_s_;
    const double n = static_cast<double>(number);
    double at_s = 0;
    const double ramp = n - before;  // requests since the warm-up
    const double in_ramp = (from_ + to_) / 2 * duration_s_;
    if (ramp <= 0 || !(from_ < to_ || to_ < from_)) {
        at_s = n / from_;
    } else if (ramp < in_ramp) {
        // from · t + (to − from) / (2 · duration) · t² = ramp, by the root that stays exact where
        // the second term is small.
        const double slope = (to_ - from_) / duration_s_;
        const double root = std::sqrt(std::max(from_ * from_ + 2 * slope * ramp, 0.0));
        at_s = warm_up_s_ + 2 * ramp / (from_ + root);
    } else {
        at_s = warm_up_s_ + duration_s_ + (ramp - in_ramp) / to_;
    }
    return static_cast<std::int64_t>(at_s * 1e9);
}

double schedule::rate_at(double s) const noexcept {
    const double share = duration_s_ > 0 ? std::clamp(s / duration_s_, 0.0, 1.0) : 0;
    return std::lerp(from_, to_, share);
}

bool parse_rates(std::string_view text, rate_words& to) {
    to = {};
    const std::size_t dots = text.find("..");
    if (dots != std::string_view::npos) {
        return parse_rate(text.substr(0, dots), to.from) &&
               parse_rate(text.substr(dots + 2), to.to);
    }
    const bool all = each_part(
        text, [&to](std::string_view part) { return parse_rate(part, to.steps.emplace_back()); });
    if (!all) {
        return false;
    }
    to.from = to.to = to.steps.front();
    if (to.steps.size() == 1) {
        to.steps.clear();
    }
    return true;
}

bool parse_connections(std::string_view text, std::size_t most, std::vector<std::size_t>& to) {
    to.clear();
    return each_part(text, [&](std::string_view part) {
        std::size_t& number = to.emplace_back();
        const char* const end = part.data() + part.size();
        const auto [stopped, fault] = std::from_chars(part.data(), end, number);
        return fault == std::errc{} && stopped == end && number >= 1 && number <= most;
    });
}

}  // namespace pillion::load
