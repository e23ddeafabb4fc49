#include "histogram.hpp"

#include <cmath>

namespace pillion::load {

void latency_histogram::merge(const latency_histogram& other) noexcept {
    for (std::size_t i = 0; i < buckets; ++i) {
        counts_[i] += other.counts_[i];
    }
    count_ += other.count_;
    sum_ns_ += other.sum_ns_;
    min_ns_ = std::min(min_ns_, other.min_ns_);
    max_ns_ = std::max(max_ns_, other.max_ns_);
}

double latency_histogram::mean_ns() const noexcept {
    return count_ == 0 ? 0 : sum_ns_ / static_cast<double>(count_);
}

std::int64_t latency_histogram::value_of(std::size_t index) noexcept {
    if (index < 2 * sub_buckets) {
        return static_cast<std::int64_t>(index);
    }
    const std::size_t shift = (index >> sub_bits) - 1;
    const std::size_t sub = (index & (sub_buckets - 1)) + sub_buckets;
    return static_cast<std::int64_t>((sub << shift) + (std::size_t{1} << shift) / 2);
}

std::int64_t latency_histogram::percentile_ns(double percent) const noexcept {
    if (count_ == 0) {
        return 0;
    }
    // 99.9 % of 1000 values is the 999th, although 0.999 is no binary fraction.
    const double exact = percent * static_cast<double>(count_) / 100;
    const auto rank =
        std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(exact - 1e-6)), 1, count_);
    if (rank == count_) {
        return max_ns_;
    }
    std::uint64_t seen = 0;
    std::size_t i = 0;
    for (; i < buckets - 1; ++i) {
        seen += counts_[i];
        if (seen >= rank) {
            break;
        }
    }
    return std::clamp(value_of(i), min_ns_, max_ns_);
}

}  // namespace pillion::load
