// token_bucket: how often something may happen: a burst at once, then one per period.
//
// A bucket is one number, the time at which it will be full again (the theoretical arrival time of
// the generic cell rate algorithm, ITU-T I.371 annex A). A token taken moves it one period ahead;
// where that would be more than a whole burst ahead there is none. So nothing is refilled by a
// timer, nothing is rounded over time, and shards share a bucket by one compare-and-exchange: no
// more is ever given than the rate, whatever the number of threads. Their clocks are those of their
// turns, so one that lags may refuse what another would give for the length of a turn.
//
// Thread-safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace pillion::mcp {

struct bucket_rate {
    std::int64_t period_ns = 0;  // of one token; 0: no limit
    std::int64_t depth_ns = 0;   // the periods of a burst

    // `burst` 0: what one second gives, at least one. The period is rounded up: never more than
    // `per_second`. REQUIRES: per_second > 0.
    static bucket_rate of(double per_second, std::int64_t burst) noexcept;
    bool limited() const noexcept { return period_ns > 0; }
    bool operator==(const bucket_rate&) const noexcept = default;
};

class token_bucket {
 public:
    // Takes a token: 0; or the nanoseconds until there is one.
    std::int64_t take(const bucket_rate& rate, std::int64_t now_ns) noexcept {
        std::int64_t seen = full_at_.load(std::memory_order_relaxed);
        for (;;) {
            const std::int64_t next = (seen > now_ns ? seen : now_ns) + rate.period_ns;
            if (next - now_ns > rate.depth_ns) {
                return next - now_ns - rate.depth_ns;
            }
            if (full_at_.compare_exchange_weak(seen, next, std::memory_order_relaxed)) {
                return 0;
            }
        }
    }
    // Before this time something is missing.
    std::int64_t full_at() const noexcept { return full_at_.load(std::memory_order_relaxed); }

 private:
    std::atomic<std::int64_t> full_at_{0};
};

// Whole seconds to wait, at least one: for Retry-After.
std::uint32_t retry_seconds(std::int64_t wait_ns) noexcept;

}  // namespace pillion::mcp
