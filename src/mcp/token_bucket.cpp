#include "mcp/token_bucket.hpp"

#include <algorithm>

#include "base/number.hpp"

namespace pillion::mcp {

bucket_rate bucket_rate::of(double per_second, std::int64_t burst) noexcept {
    // An hour and a million: their product is far from the end of 64 bits.
    constexpr std::int64_t longest_ns = 3'600'000'000'000;
    constexpr std::int64_t burst_max = 1'000'000;
    const std::int64_t period_ns =
        std::clamp<std::int64_t>(base::round_up(1e9 / per_second), 1, longest_ns);
    const std::int64_t tokens =
        burst > 0 ? burst
                  : static_cast<std::int64_t>(std::min(per_second, static_cast<double>(burst_max)));
    bucket_rate made;
    made.period_ns = period_ns;
    made.depth_ns = made.period_ns * std::clamp<std::int64_t>(tokens, 1, burst_max);
    return made;
}

std::uint32_t retry_seconds(std::int64_t wait_ns) noexcept {
    constexpr std::int64_t second_ns = 1'000'000'000;
    constexpr std::int64_t longest_s = 24L * 60 * 60;
    const std::int64_t seconds = wait_ns / second_ns + (wait_ns % second_ns > 0 ? 1 : 0);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 1, longest_s));
}

}  // namespace pillion::mcp
