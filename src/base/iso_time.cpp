#include "base/iso_time.hpp"

#include <algorithm>
#include <chrono>

namespace pillion::base {

namespace {

void put(char* to, std::int64_t value, int digits) noexcept {
    for (int i = digits - 1; i >= 0; --i) {
        to[i] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
}

}  // namespace

iso_time::iso_time(std::int64_t unix_ms) noexcept {
    constexpr std::int64_t first = -62'167'219'200'000;  // 0000-01-01
    constexpr std::int64_t last = 253'402'300'799'999;   // 9999-12-31
    using std::chrono::days;
    using std::chrono::milliseconds;
    const std::chrono::sys_time<milliseconds> at{milliseconds(std::clamp(unix_ms, first, last))};
    const auto day = std::chrono::floor<days>(at);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss<milliseconds> time{at - day};
    std::string_view("0000-00-00T00:00:00.000Z").copy(text_, sizeof text_);
    put(text_, static_cast<int>(date.year()), 4);
    put(text_ + 5, static_cast<unsigned>(date.month()), 2);
    put(text_ + 8, static_cast<unsigned>(date.day()), 2);
    put(text_ + 11, time.hours().count(), 2);
    put(text_ + 14, time.minutes().count(), 2);
    put(text_ + 17, time.seconds().count(), 2);
    put(text_ + 20, time.subseconds().count(), 3);
}

}  // namespace pillion::base
