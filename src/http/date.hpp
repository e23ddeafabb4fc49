// The Date field: IMF-fixdate (RFC 9110 §5.6.7), without locale and without the C library's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pillion::http {

inline constexpr std::size_t date_bytes = 29;  // "Sun, 06 Nov 1994 08:49:37 GMT"

// Writes the date of `unix_seconds` (UTC, years 1970–9999; clamped) to out[0..date_bytes), without
// a terminator. Thread-safety: pure.
void format_date(std::int64_t unix_seconds, char* out) noexcept;

// The last formatted date: one per shard makes Date a copy on all but one reply per second.
// Thread: the one that owns it.
class date_cache {
 public:
    // The date of `unix_seconds`; the view is valid until the next call.
    std::string_view at(std::int64_t unix_seconds) noexcept {
        if (unix_seconds != seconds_) {
            seconds_ = unix_seconds;
            format_date(unix_seconds, text_);
        }
        return {text_, date_bytes};
    }

 private:
    std::int64_t seconds_ = INT64_MIN;
    char text_[date_bytes] = {};
};

}  // namespace pillion::http
