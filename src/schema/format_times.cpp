// Dates and times (RFC 3339).
#include "base/ascii.hpp"
#include "schema/format_checks.hpp"

namespace pillion::schema_check::formats {

namespace {

// Takes `count` digits off the front; -1 when they are not there.
int take_digits(std::string_view& text, std::size_t count) noexcept {
    int value = 0;
    if (text.size() < count) {
        return -1;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!base::is_digit(text[i])) {
            return -1;
        }
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(count);
    return value;
}

bool take(std::string_view& text, char c) noexcept {
    if (!text.starts_with(c)) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

// Minutes to take off the local time; false when it is malformed.
bool read_offset(std::string_view text, int& minutes) noexcept {
    minutes = 0;
    if (text == "Z" || text == "z") {
        return true;
    }
    const bool east = text.starts_with('+');
    if (!east && !text.starts_with('-')) {
        return false;
    }
    text.remove_prefix(1);
    const int hour = take_digits(text, 2);
    const bool colon = take(text, ':');
    const int minute = colon ? take_digits(text, 2) : -1;
    minutes = (east ? 1 : -1) * (hour * 60 + minute);
    return hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && text.empty();
}

// Digits with one of `units` behind them, the units in order. `gaps` allows to leave out one
// between two. False when the text has something else; `found` counts.
bool read_elements(std::string_view& text, std::string_view units, int& found) noexcept {
    std::size_t next = 0;
    bool begun = false;
    while (!text.empty() && base::is_digit(text[0])) {
        while (!text.empty() && base::is_digit(text[0])) {
            text.remove_prefix(1);
        }
        const std::size_t unit = text.empty() ? units.npos : units.find(text[0], next);
        // The grammar nests: hours contain minutes, so "PT1H2S" is none.
        if (unit == units.npos || (begun && unit != next)) {
            return false;
        }
        text.remove_prefix(1);
        next = unit + 1;
        begun = true;
        ++found;
    }
    return true;
}

}  // namespace

bool is_date(std::string_view text) noexcept {
    constexpr int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int year = take_digits(text, 4);
    const bool dash = take(text, '-');
    const int month = take_digits(text, 2);
    const bool dashes = take(text, '-') && dash;
    const int day = take_digits(text, 2);
    if (year < 0 || !dashes || month < 1 || month > 12 || day < 1 || !text.empty()) {
        return false;
    }
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day <= days[month - 1] && (month != 2 || day < 29 || leap);
}

bool is_time(std::string_view text) noexcept {
    const int hour = take_digits(text, 2);
    const bool colon = take(text, ':');
    const int minute = take_digits(text, 2);
    const bool colons = take(text, ':') && colon;
    const int second = take_digits(text, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 ||
        !colons) {
        return false;
    }
    if (take(text, '.')) {
        if (take_digits(text, 1) < 0) {
            return false;
        }
        while (take_digits(text, 1) >= 0) {
        }
    }
    int offset = 0;
    if (!read_offset(text, offset)) {
        return false;
    }
    // Leap seconds are at the end of a day of UTC (RFC 3339 appendix D).
    constexpr int day_minutes = 24 * 60;
    const int utc = (hour * 60 + minute - offset + day_minutes) % day_minutes;
    return second < 60 || utc == day_minutes - 1;
}

bool is_date_time(std::string_view text) noexcept {
    return text.size() > 11 && (text[10] == 'T' || text[10] == 't') &&
           is_date(text.substr(0, 10)) && is_time(text.substr(11));
}

bool is_duration(std::string_view text) noexcept {
    int found = 0;
    if (!take(text, 'P')) {
        return false;
    }
    if (text.ends_with('W')) {
        return read_elements(text, "W", found) && found == 1 && text.empty();
    }
    if (!read_elements(text, "YMD", found)) {
        return false;
    }
    if (text.empty()) {
        return found > 0;
    }
    found = 0;
    return take(text, 'T') && read_elements(text, "HMS", found) && found > 0 && text.empty();
}

}  // namespace pillion::schema_check::formats
