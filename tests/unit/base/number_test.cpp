#include "base/number.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

template <class Number>
std::string written(Number value) {
    char digits[double_text_max];
    return {digits, format(digits, value)};
}

TEST(number, integers_are_exact_at_the_ends_of_their_range) {
    EXPECT_EQ(parse_i64("9223372036854775807"), INT64_MAX);
    EXPECT_EQ(parse_i64("-9223372036854775808"), INT64_MIN);
    EXPECT_EQ(parse_i64("9223372036854775808"), std::nullopt);
    EXPECT_EQ(parse_i64("-9223372036854775809"), std::nullopt);
    EXPECT_EQ(parse_u64("18446744073709551615"), UINT64_MAX);
    EXPECT_EQ(parse_u64("18446744073709551616"), std::nullopt);
    EXPECT_EQ(parse_i64("-0"), 0);
    EXPECT_EQ(parse_u64("-0"), 0U);
    EXPECT_EQ(parse_u64("-1"), std::nullopt);
}

TEST(number, only_whole_numbers_of_the_json_grammar_parse) {
    for (const char* text : {"", " 1", "1 ", "+1", "01", "-", "--1", "0x10", "1_000", "1.", ".5",
                             "1e", "1e+", "nan", "inf", "Infinity", "1,5", "00", "-01"}) {
        EXPECT_EQ(parse_i64(text), std::nullopt) << text;
        EXPECT_EQ(parse_u64(text), std::nullopt) << text;
        EXPECT_EQ(parse_f64(text), std::nullopt) << text;
        EXPECT_EQ(parse_integral(text), std::nullopt) << text;
    }
    for (const char* text : {"1.0", "1e0", "1E2", "-1.5"}) {
        EXPECT_EQ(parse_i64(text), std::nullopt) << text;
        EXPECT_TRUE(parse_f64(text)) << text;
    }
}

TEST(number, scan_stops_at_the_byte_that_does_not_fit) {
    const std::string_view text = "-12.5e+3,";
    const number_scan scan = scan_number(text.data(), text.data() + text.size());
    EXPECT_TRUE(scan.ok);
    EXPECT_FALSE(scan.integer);
    EXPECT_EQ(scan.end - text.data(), 8);
    for (std::size_t size = 0; size < 8; ++size) {
        const number_scan cut = scan_number(text.data(), text.data() + size);
        const bool whole = size == 2 || size == 3 || size == 5 || size == 8;
        EXPECT_EQ(cut.ok, whole) << size;
        EXPECT_EQ(cut.end - text.data(), static_cast<std::ptrdiff_t>(size));
    }
}

TEST(number, doubles_are_rounded_to_nearest_and_bounded) {
    EXPECT_EQ(parse_f64("0.1"), 0.1);
    EXPECT_EQ(parse_f64("1.7976931348623157e308"), std::numeric_limits<double>::max());
    EXPECT_EQ(parse_f64("1.8e308"), std::nullopt);
    EXPECT_EQ(parse_f64("-1e99999999999999999999999"), std::nullopt);
    EXPECT_EQ(parse_f64("5e-324"), std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(parse_f64("1e-400"), 0.0);
    EXPECT_EQ(parse_f64("123e-99999999999999999999999"), 0.0);
    EXPECT_TRUE(std::signbit(*parse_f64("-1E-400")));
    EXPECT_EQ(parse_f64("0e99999999999999999999"), 0.0);
    EXPECT_TRUE(std::signbit(*parse_f64("-0")));
    EXPECT_EQ(parse_f64("0." + std::string(400, '0') + "1e401"), 1.0);
}

// Short decimals take a way of their own, up to fifteen digits: both sides of that border.
TEST(number, decimals_of_every_length_are_the_nearest_double) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 50'000; ++i) {
        std::string text = std::to_string(random());
        text.resize(1 + random() % text.size());
        const std::size_t point = random() % (text.size() + 1);
        if (point > 0 && point < text.size()) {
            text.insert(point, ".");
        }
        text.insert(0, i % 2 == 0 ? "-" : "");
        EXPECT_EQ(parse_f64(text), std::strtod(text.c_str(), nullptr)) << text;
        EXPECT_EQ(parse_f64(text + "."), std::nullopt) << text;
        EXPECT_EQ(parse_f64(text + "x"), std::nullopt) << text;
        EXPECT_EQ(parse_f64("0" + text), std::nullopt) << text;
    }
}

TEST(number, integral_values_are_found_in_any_spelling) {
    EXPECT_EQ(parse_integral("42"), 42);
    EXPECT_EQ(parse_integral("42.0"), 42);
    EXPECT_EQ(parse_integral("4.2e1"), 42);
    EXPECT_EQ(parse_integral("420E-1"), 42);
    EXPECT_EQ(parse_integral("0.00042e5"), 42);
    EXPECT_EQ(parse_integral("-4200.00e-2"), -42);
    EXPECT_EQ(parse_integral("-0.0e5"), 0);
    EXPECT_EQ(parse_integral("0e999999999999999999999"), 0);
    EXPECT_EQ(parse_integral("9.223372036854775807e18"), INT64_MAX);
    EXPECT_EQ(parse_integral("9223372036854775807.000"), INT64_MAX);
    EXPECT_EQ(parse_integral("-9.223372036854775808E+18"), INT64_MIN);
    EXPECT_EQ(parse_integral("9.223372036854775808e18"), std::nullopt);
    EXPECT_EQ(parse_integral("99999999999999999999"), std::nullopt);
    EXPECT_EQ(parse_integral("1e18"), 1'000'000'000'000'000'000);
    EXPECT_EQ(parse_integral("1e19"), std::nullopt);
    EXPECT_EQ(parse_integral("4.25e1"), std::nullopt);
    EXPECT_EQ(parse_integral("0.5"), std::nullopt);
    EXPECT_EQ(parse_integral("1e99999999999999999999"), std::nullopt);
    EXPECT_EQ(parse_integral("1e-1"), std::nullopt);
}

TEST(number, equality_is_that_of_the_mathematical_values) {
    const auto same = [](const char* a, const char* b) {
        EXPECT_EQ(same_number(a, b), same_number(b, a));
        return same_number(a, b);
    };
    EXPECT_TRUE(same("1", "1.0"));
    EXPECT_TRUE(same("10e-1", "0.1e1"));
    EXPECT_TRUE(same("1200", "1.2e3"));
    EXPECT_TRUE(same("0", "-0"));
    EXPECT_TRUE(same("0.000", "0e50"));
    EXPECT_TRUE(same("1e400", "10e399"));
    EXPECT_TRUE(same("0.0012", "12E-4"));
    EXPECT_TRUE(same("120.034", "12003.4e-2"));
    EXPECT_TRUE(same("100.0", "1e2"));
    EXPECT_FALSE(same("1", "-1"));
    EXPECT_FALSE(same("1", "10"));
    EXPECT_FALSE(same("0.1", "0.10000000000000000001"));
    EXPECT_FALSE(same("9007199254740993", "9007199254740992"));
    EXPECT_FALSE(same("12.3", "1.23"));
    EXPECT_FALSE(same("102", "12"));
    EXPECT_FALSE(same("0", "1e-400"));
    EXPECT_TRUE(same("1e999999999999999999999", "1e999999999999999999999"));
    EXPECT_FALSE(same("1e999999999999999999999", "1"));
}

TEST(number, rounds_up_to_the_nearest_integer_there_is) {
    EXPECT_EQ(round_up(0.0), 0);
    EXPECT_EQ(round_up(-0.0), 0);
    EXPECT_EQ(round_up(2.0), 2);
    EXPECT_EQ(round_up(std::nextafter(2.0, 3.0)), 3);
    EXPECT_EQ(round_up(std::nextafter(2.0, 1.0)), 2);
    EXPECT_EQ(round_up(std::numeric_limits<double>::denorm_min()), 1);
    EXPECT_EQ(round_up(-0.5), 0);
    EXPECT_EQ(round_up(-2.0), -2);
    EXPECT_EQ(round_up(-2.5), -2);
    EXPECT_EQ(round_up(4503599627370495.5), 4503599627370496);
    EXPECT_EQ(round_up(std::nextafter(9223372036854775808.0, 0.0)), 9223372036854774784);
    EXPECT_EQ(round_up(9223372036854775808.0), INT64_MAX);
    EXPECT_EQ(round_up(std::numeric_limits<double>::infinity()), INT64_MAX);
    EXPECT_EQ(round_up(-9223372036854775808.0), INT64_MIN);
    EXPECT_EQ(round_up(-1e300), INT64_MIN);
}

TEST(number, formats_the_shortest_text_that_reads_back) {
    EXPECT_EQ(written(0.1), "0.1");
    EXPECT_EQ(written(42.0), "42");
    EXPECT_EQ(written(-0.0), "-0");
    EXPECT_EQ(written(1e300), "1e+300");
    EXPECT_EQ(written(-std::numeric_limits<double>::denorm_min()), "-5e-324");
    EXPECT_EQ(parse_f64(written(-1.2345678901234567e-300)), -1.2345678901234567e-300);
    EXPECT_EQ(written(std::int64_t{INT64_MIN}), "-9223372036854775808");
    EXPECT_EQ(written(std::uint64_t{UINT64_MAX}), "18446744073709551615");
}

}  // namespace
}  // namespace pillion::base
