#include "http/date.hpp"

#include <algorithm>
#include <cstring>

namespace pillion::http {

namespace {

constexpr std::int64_t day_seconds = 86'400;
constexpr std::int64_t last_second = 253'402'300'799;  // 9999-12-31T23:59:59Z

void put2(char* out, std::int64_t value) noexcept {
    out[0] = static_cast<char>('0' + value / 10);
    out[1] = static_cast<char>('0' + value % 10);
}

}  // namespace

void format_date(std::int64_t unix_seconds, char* out) noexcept {
    const std::int64_t seconds = std::clamp<std::int64_t>(unix_seconds, 0, last_second);
    const std::int64_t days = seconds / day_seconds;
    const std::int64_t clock = seconds % day_seconds;

    // Proleptic Gregorian calendar with years that begin on 1 March, so that the leap day is the
    // last of its year; 719468 is 1970-01-01 counted from 0000-03-01.
    const std::int64_t from_march = days + 719'468;
    const std::int64_t era = from_march / 146'097;
    const std::int64_t era_day = from_march % 146'097;
    const std::int64_t era_year =
        (era_day - era_day / 1'460 + era_day / 36'524 - era_day / 146'096) / 365;
    const std::int64_t year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    const std::int64_t month_from_march = (5 * year_day + 2) / 153;
    const std::int64_t day = year_day - (153 * month_from_march + 2) / 5 + 1;
    const std::int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    const std::int64_t year = era * 400 + era_year + (month <= 2 ? 1 : 0);

    std::memcpy(out, "Thu, 00 Jan 0000 00:00:00 GMT", date_bytes);
    // 1970-01-01 was a Thursday.
    std::memcpy(out, &"ThuFriSatSunMonTueWed"[3 * (days % 7)], 3);
    put2(out + 5, day);
    std::memcpy(out + 8, &"JanFebMarAprMayJunJulAugSepOctNovDec"[3 * (month - 1)], 3);
    put2(out + 12, year / 100);
    put2(out + 14, year % 100);
    put2(out + 17, clock / 3'600);
    put2(out + 20, clock / 60 % 60);
    put2(out + 23, clock % 60);
}

}  // namespace pillion::http
