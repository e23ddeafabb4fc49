#include "schema/code_set.hpp"

#include <algorithm>

namespace pillion::schema_check {

void normalise(std::vector<code_range>& set, bool inverted) {
    std::sort(set.begin(), set.end());
    std::vector<code_range> joined;
    for (const code_range& one : set) {
        if (!joined.empty() && one.first <= joined.back().second + 1) {
            joined.back().second = std::max(joined.back().second, one.second);
        } else {
            joined.push_back(one);
        }
    }
    if (inverted) {
        std::vector<code_range> rest;
        std::uint32_t next = 0;
        for (const code_range& one : joined) {
            if (one.first > next) {
                rest.emplace_back(next, one.first - 1);
            }
            next = one.second + 1;
        }
        if (next <= code_point_max) {
            rest.emplace_back(next, code_point_max);
        }
        joined = std::move(rest);
    }
    set = std::move(joined);
}

code_set::code_set(std::vector<code_range> ranges) : ranges_(std::move(ranges)) {
    for (const auto& [first, last] : ranges_) {
        for (std::uint32_t c = first; c <= last && c < 128; ++c) {
            ascii_[c >> 6] |= std::uint64_t{1} << (c & 63);
        }
    }
}

bool code_set::has(std::uint32_t code) const noexcept {
    const auto behind =
        std::upper_bound(ranges_.begin(), ranges_.end(), code,
                         [](std::uint32_t c, const code_range& one) { return c < one.first; });
    return behind != ranges_.begin() && code <= std::prev(behind)->second;
}

bool code_set::meets(const code_set& other) const noexcept {
    auto a = ranges_.begin();
    auto b = other.ranges_.begin();
    while (a != ranges_.end() && b != other.ranges_.end()) {
        if (a->second < b->first) {
            ++a;
        } else if (b->second < a->first) {
            ++b;
        } else {
            return true;
        }
    }
    return false;
}

}  // namespace pillion::schema_check
