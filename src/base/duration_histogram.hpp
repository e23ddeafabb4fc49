// duration_histogram: how many durations fell into which bucket, and their sum. Plain numbers of
// whoever measures: adding one costs a few comparisons.
//
// Thread: its owner's; copies are values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pillion::base {

class duration_histogram {
 public:
    // A bucket holds what is at most its bound and above the one before; the last one, without a
    // bound, holds the rest. `seconds` is the bound as text.
    struct bound {
        std::int64_t ns;
        std::string_view seconds;
    };
    static constexpr std::array<bound, 19> bounds = {{
        {100'000, "0.0001"},      {200'000, "0.0002"},    {500'000, "0.0005"},
        {1'000'000, "0.001"},     {2'000'000, "0.002"},   {5'000'000, "0.005"},
        {10'000'000, "0.01"},     {20'000'000, "0.02"},   {50'000'000, "0.05"},
        {100'000'000, "0.1"},     {200'000'000, "0.2"},   {500'000'000, "0.5"},
        {1'000'000'000, "1"},     {2'000'000'000, "2"},   {5'000'000'000, "5"},
        {10'000'000'000, "10"},   {30'000'000'000, "30"}, {60'000'000'000, "60"},
        {300'000'000'000, "300"},
    }};
    static constexpr std::size_t buckets = bounds.size() + 1;

    void add(std::int64_t ns) noexcept {
        std::size_t i = 0;
        while (i < bounds.size() && ns > bounds[i].ns) {
            ++i;
        }
        ++counts_[i];
        sum_ns_ += ns;
    }

    void add(const duration_histogram& other) noexcept {
        for (std::size_t i = 0; i < buckets; ++i) {
            counts_[i] += other.counts_[i];
        }
        sum_ns_ += other.sum_ns_;
    }

    // Of one bucket alone. REQUIRES: bucket < buckets.
    std::uint64_t count_in(std::size_t bucket) const noexcept { return counts_[bucket]; }
    std::uint64_t count() const noexcept {
        std::uint64_t all = 0;
        for (const std::uint64_t n : counts_) {
            all += n;
        }
        return all;
    }
    std::int64_t sum_ns() const noexcept { return sum_ns_; }

 private:
    std::array<std::uint64_t, buckets> counts_{};
    std::int64_t sum_ns_ = 0;
};

}  // namespace pillion::base
