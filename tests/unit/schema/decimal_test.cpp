// decimal: order and divisibility of JSON numbers against exact arithmetic.
#include "schema/decimal.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::schema_check {
namespace {

TEST(decimal, spellings_of_one_value_are_equal) {
    const std::vector<std::vector<std::string>> groups = {
        {"0", "-0", "0.0", "0e5", "-0.00E-7"},
        {"1", "1.0", "10e-1", "0.1e1", "0.001e3", "100E-2", "1.000e+0"},
        {"1200", "1.2e3", "12e2", "1200.00", "0.0012e6"},
        {"-0.05", "-5e-2", "-0.5e-1", "-0.0500"},
        {"12.34", "1234e-2", "0.1234e2", "12.3400"},
        {"123456789012345678901234567890", "1.2345678901234567890123456789e29"},
        {"1e400", "10e399", "0.1e401"},
    };
    for (std::size_t i = 0; i < groups.size(); ++i) {
        for (const std::string& a : groups[i]) {
            for (std::size_t j = 0; j < groups.size(); ++j) {
                for (const std::string& b : groups[j]) {
                    EXPECT_EQ(compare(decimal::parse(a), decimal::parse(b)) == 0, i == j)
                        << a << ' ' << b;
                }
            }
        }
    }
}

TEST(decimal, orders_numbers_of_any_size) {
    const std::vector<std::string> sorted = {"-1e400",
                                             "-9007199254740993",
                                             "-9007199254740992",
                                             "-10",
                                             "-9.99",
                                             "-1",
                                             "-0.1",
                                             "-1e-300",
                                             "0",
                                             "1e-400",
                                             "1e-300",
                                             "0.0999",
                                             "0.1",
                                             "0.11",
                                             "0.9",
                                             "1",
                                             "1.5",
                                             "9",
                                             "10",
                                             "10.01",
                                             "9007199254740992",
                                             "9007199254740993",
                                             "18446744073709551616",
                                             "1e400"};
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        for (std::size_t j = 0; j < sorted.size(); ++j) {
            const int order = compare(decimal::parse(sorted[i]), decimal::parse(sorted[j]));
            EXPECT_EQ(order < 0, i < j) << sorted[i] << ' ' << sorted[j];
            EXPECT_EQ(order > 0, i > j) << sorted[i] << ' ' << sorted[j];
        }
    }
}

// Nineteen digits overflowed on the way to "does not fit": from 2^63 on UBSan ended the server.
TEST(decimal, orders_what_fits_a_word_and_tells_what_does_not) {
    const std::vector<std::string> fit = {"-999999999999999999",
                                          "-99999999999999999.9",
                                          "-1",
                                          "-0.05",
                                          "0",
                                          "0.999999999999999",
                                          "1.50",
                                          "99999999999999999.8",
                                          "99999999999999999.9",
                                          "100000000000000000",
                                          "999999999999999999"};
    for (std::size_t i = 0; i < fit.size(); ++i) {
        ASSERT_TRUE(short_decimal::parse(fit[i]).valid()) << fit[i];
        for (std::size_t j = 0; j < fit.size(); ++j) {
            const int order = compare(short_decimal::parse(fit[i]), short_decimal::parse(fit[j]));
            EXPECT_EQ(order < 0, i < j) << fit[i] << ' ' << fit[j];
            EXPECT_EQ(order > 0, i > j) << fit[i] << ' ' << fit[j];
        }
    }
    for (const char* text :
         {"1000000000000000000", "9223372036854775807", "9223372036854775808",
          "9999999999999999999", "-9223372036854775808", "-9223372036854775809",
          "-9999999999999999999", "10000000000000000000", "922337203685477580.8", "1e5"}) {
        EXPECT_FALSE(short_decimal::parse(text).valid()) << text;
    }
}

TEST(decimal, tells_integers) {
    for (const char* text : {"0", "-0.0", "1", "1.0", "4.2e1", "1e300", "-120e-1", "1e18446744"}) {
        EXPECT_TRUE(decimal::parse(text).integral()) << text;
    }
    for (const char* text : {"0.5", "-1.1", "42e-1", "1e-300", "1.05e1"}) {
        EXPECT_FALSE(decimal::parse(text).integral()) << text;
    }
}

TEST(decimal, multiples_of_small_integers_are_exact) {
    for (int by = 1; by <= 60; ++by) {
        const auto divide = divisor::make(decimal::parse(std::to_string(by)));
        ASSERT_TRUE(divide);
        for (int value = -300; value <= 300; ++value) {
            EXPECT_EQ(is_multiple(decimal::parse(std::to_string(value)), *divide), value % by == 0)
                << value << ' ' << by;
            // The same with both a hundred times smaller.
            const auto cents = divisor::make(decimal::parse(std::to_string(by) + "e-2"));
            EXPECT_EQ(is_multiple(decimal::parse(std::to_string(value) + "e-2"), *cents),
                      value % by == 0);
        }
    }
}

TEST(decimal, multiples_beyond_double_are_exact) {
    const auto is = [](const char* value, const char* by) {
        return is_multiple(decimal::parse(value), *divisor::make(decimal::parse(by)));
    };
    EXPECT_TRUE(is("9007199254740993", "3"));
    EXPECT_FALSE(is("9007199254740992", "3"));
    EXPECT_TRUE(is("0.3", "0.1"));
    EXPECT_TRUE(is("1.1e0", "0.01"));
    EXPECT_FALSE(is("0.35", "0.1"));
    EXPECT_FALSE(is("1e308", "0.123456789"));
    EXPECT_TRUE(is("1e308", "0.125"));
    EXPECT_TRUE(is("12391239123", "1e-8"));
    EXPECT_TRUE(is("123456789012345678000000000000", "123456789012345678"));
    EXPECT_FALSE(is("123456789012345678000000000001", "123456789012345678"));
    EXPECT_FALSE(is("1e-999999999999", "1"));
}

TEST(decimal, a_divisor_is_positive_and_not_too_long) {
    for (const char* text : {"0", "-1", "-0.0", "1.234567890123456789", "1234567890123456789"}) {
        EXPECT_FALSE(divisor::make(decimal::parse(text))) << text;
    }
    EXPECT_TRUE(divisor::make(decimal::parse("123456789012345678")));
    EXPECT_TRUE(divisor::make(decimal::parse("100000000000000000000000000")));
}

}  // namespace
}  // namespace pillion::schema_check
