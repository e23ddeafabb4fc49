// key_schedule: when the keys of an issuer are fetched again, and how long they count (STANDARD row
// 53: at most ten minutes). They are fetched anew after half of that, so that an issuer may be away
// for the other half before anybody notices.
//
// Thread-safety: a value. Times are nanoseconds of a loop's clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pillion::auth {

class key_schedule {
 public:
    static constexpr std::int64_t second_ns = 1'000'000'000;
    static constexpr std::int64_t refresh_ns = 300 * second_ns;
    static constexpr std::int64_t age_max_ns = 600 * second_ns;
    // After a failure; each further one waits for twice as long, up to the last.
    static constexpr std::int64_t retry_first_ns = second_ns;
    static constexpr std::int64_t retry_last_ns = 30 * second_ns;

    // A fetch has ended at that time.
    void fetched(std::int64_t now_ns) noexcept {
        next_ns_ = now_ns + refresh_ns;
        expires_ns_ = now_ns + age_max_ns;
        retry_ns_ = retry_first_ns;
    }
    void failed(std::int64_t now_ns) noexcept {
        next_ns_ = now_ns + retry_ns_;
        retry_ns_ = std::min(2 * retry_ns_, retry_last_ns);
    }
    // They have been too old since; there are none until the next fetch.
    void expired() noexcept { expires_ns_ = INT64_MAX; }

    bool has_keys() const noexcept { return expires_ns_ != INT64_MAX; }
    bool too_old(std::int64_t now_ns) const noexcept { return now_ns >= expires_ns_; }
    bool due(std::int64_t now_ns) const noexcept { return now_ns >= next_ns_; }
    // When something is due, one or the other.
    std::int64_t next_ns() const noexcept { return std::min(next_ns_, expires_ns_); }
    std::int64_t expires_ns() const noexcept { return expires_ns_; }

 private:
    std::int64_t next_ns_ = INT64_MIN;
    std::int64_t expires_ns_ = INT64_MAX;  // of what is there; INT64_MAX: nothing is
    std::int64_t retry_ns_ = retry_first_ns;
};

}  // namespace pillion::auth
