// latency_histogram: how often which latency was seen, in bounded memory, percentiles with a
// relative error of at most 0.4 %.
//
// Log-linear: 128 buckets for each power of two; below 256 ns each value has its own. Minimum,
// maximum and mean are exact. 36 KiB, never more. Thread: its owner's; copies are values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pillion::load {

class latency_histogram {
 public:
    // What is longer (73 minutes) counts as this long in percentiles.
    static constexpr std::int64_t largest_ns = (std::int64_t{1} << 42) - 1;

    void add(std::int64_t ns) noexcept {
        ns = std::max<std::int64_t>(ns, 0);
        ++counts_[index_of(std::min(ns, largest_ns))];
        ++count_;
        sum_ns_ += static_cast<double>(ns);
        min_ns_ = std::min(min_ns_, ns);
        max_ns_ = std::max(max_ns_, ns);
    }
    void merge(const latency_histogram& other) noexcept;
    void clear() noexcept { *this = latency_histogram(); }

    std::uint64_t count() const noexcept { return count_; }
    std::int64_t min_ns() const noexcept { return count_ == 0 ? 0 : min_ns_; }
    std::int64_t max_ns() const noexcept { return max_ns_; }
    double mean_ns() const noexcept;
    // The smallest value that at least `percent` of all values do not exceed (nearest rank); 0 when
    // there are none. REQUIRES: 0 < percent <= 100.
    std::int64_t percentile_ns(double percent) const noexcept;

 private:
    static constexpr unsigned sub_bits = 7;
    static constexpr std::size_t sub_buckets = std::size_t{1} << sub_bits;
    static constexpr std::size_t buckets = (42 - sub_bits + 1) * sub_buckets;

    static std::size_t index_of(std::int64_t ns) noexcept {
        const auto value = static_cast<std::uint64_t>(ns);
        const auto bits = static_cast<unsigned>(std::bit_width(value));
        const unsigned shift = bits > sub_bits + 1 ? bits - sub_bits - 1 : 0;
        return (std::size_t{shift} << sub_bits) + static_cast<std::size_t>(value >> shift);
    }
    // The middle of a bucket.
    static std::int64_t value_of(std::size_t index) noexcept;

    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t count_ = 0;
    double sum_ns_ = 0;
    std::int64_t min_ns_ = INT64_MAX;
    std::int64_t max_ns_ = 0;
};

}  // namespace pillion::load
