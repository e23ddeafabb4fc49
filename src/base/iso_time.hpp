// iso_time: moments as protocol text, "2026-01-31T23:59:59.123Z" (ISO 8601, UTC).
//
// Thread-safety: pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace pillion::base {

class iso_time {
 public:
    // Milliseconds since 1970; years outside 0 to 9999 are shown as the nearest of these.
    explicit iso_time(std::int64_t unix_ms) noexcept;

    std::string_view text() const noexcept { return {text_, sizeof text_}; }

 private:
    char text_[24];
};

}  // namespace pillion::base
