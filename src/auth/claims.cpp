#include "auth/claims.hpp"

#include <algorithm>
#include <cmath>

namespace pillion::auth {

namespace {

constexpr std::size_t scopes_max = 256;
// Times beyond it are no times; well inside of what a double holds exactly.
constexpr double seconds_max = 1e12;

}  // namespace

bool has_no_twins(json::view object) {
    std::vector<std::string_view> names;
    for (const json::member& m : object.members()) {
        names.push_back(m.key);
    }
    std::sort(names.begin(), names.end());
    return std::adjacent_find(names.begin(), names.end()) == names.end();
}

std::optional<double> seconds_of(json::view claim) {
    const std::optional<double> value = claim.f64();
    return value && std::abs(*value) <= seconds_max ? value : std::nullopt;
}

bool is_for(json::view audience, const std::vector<std::string>& ours) {
    const auto wanted = [&](json::view one) {
        return one.is_string() && std::find(ours.begin(), ours.end(), one.str()) != ours.end();
    };
    if (audience.is_array()) {
        const auto all = audience.elements();
        return std::any_of(all.begin(), all.end(), wanted);
    }
    return wanted(audience);
}

bool read_scopes(json::view claims, std::vector<std::string>& to) {
    std::string_view text = claims["scope"].str();
    if (claims["scope"].exists() && !claims["scope"].is_string()) {
        return false;
    }
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) {
            to.emplace_back(text.substr(0, end));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    for (const json::view one : claims["scp"].elements()) {
        to.emplace_back(one.str());
    }
    return to.size() <= scopes_max;
}

}  // namespace pillion::auth
