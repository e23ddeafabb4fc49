// config_value: units and variables.
#include "app/config_value.hpp"

#include <gtest/gtest.h>

#include "unit/app/config_cases.hpp"

namespace pillion::app {
namespace {

TEST(config_value, durations) {
    EXPECT_EQ(parse_duration_ms("0ms"), 0);
    EXPECT_EQ(parse_duration_ms("500ms"), 500);
    EXPECT_EQ(parse_duration_ms("30s"), 30'000);
    EXPECT_EQ(parse_duration_ms("5m"), 300'000);
    EXPECT_EQ(parse_duration_ms("2h"), 7'200'000);
    EXPECT_EQ(parse_duration_ms("99999999999ms"), 99'999'999'999);
    for (const char* const bad : {"", "5", "s", "-5s", "+5s", "5 s", "5S", "05s", "1.5s", "5d",
                                  "5ss", "100000000000ms", "10000h", "99999999999999999999s"}) {
        EXPECT_EQ(parse_duration_ms(bad), std::nullopt) << bad;
    }
}

TEST(config_value, the_longest_duration_fits_in_nanoseconds) {
    for (const char* const longest : {"99999999999ms", "99999999s", "999999m", "9999h"}) {
        const auto ms = parse_duration_ms(longest);
        ASSERT_TRUE(ms) << longest;
        // Deadlines are computed in int64 nanoseconds: 292 years; no sum of two may overflow.
        EXPECT_LT(*ms, INT64_MAX / 1'000'000 / 2) << longest;
    }
}

TEST(config_value, sizes) {
    EXPECT_EQ(parse_bytes("1048576"), 1 << 20);
    EXPECT_EQ(parse_bytes("512B"), 512);
    EXPECT_EQ(parse_bytes("64KiB"), 65'536);
    EXPECT_EQ(parse_bytes("1MiB"), 1 << 20);
    EXPECT_EQ(parse_bytes("2GiB"), std::int64_t{2} << 30);
    for (const char* const bad :
         {"", "B", "1kB", "1MB", "1mib", "01MiB", "-1B", "1 MiB", "1000GiB", "1e3"}) {
        EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
    }
}

struct expansion {
    const char* text;
    const char* wanted;
};

TEST(config_value, variables) {
    testing::config_case c;
    c.variables = {{"A", "one"}, {"EMPTY", ""}, {"NESTED", "${A}"}, {"_x9", "nine"}};
    for (const expansion& e : {
             expansion{"${A}", "one"},
             {"a${A}b${_x9}", "aonebnine"},
             {"${NONE:-two}", "two"},
             {"${NONE:-}", ""},
             {"${EMPTY:-two}", "two"},
             {"${EMPTY}", ""},
             {"${A:-two}", "one"},
             {"${NONE:-a:-b}", "a:-b"},
             {"${NESTED}", "${A}"},  // what a variable holds is not looked through again
             {"$$", "$"},
             {"$${A}", "${A}"},
             {"$A $", "$A $"},
         }) {
        std::string out;
        std::string fault;
        EXPECT_TRUE(substitute(e.text, c.from(), out, fault)) << e.text;
        EXPECT_EQ(out, e.wanted) << e.text;
    }
}

TEST(config_value, variables_that_are_none) {
    testing::config_case c;
    std::string out;
    std::string fault;
    EXPECT_FALSE(substitute("x${NONE}", c.from(), out, fault));
    EXPECT_EQ(fault, "the variable NONE is not set");
    for (const char* const bad : {"${", "${}", "${A", "${A B}", "${1}", "${:-x}", "${A-x}"}) {
        EXPECT_FALSE(substitute(bad, c.from(), out, fault)) << bad;
        EXPECT_EQ(fault, "a variable is ${NAME} or ${NAME:-default}, and $$ a dollar sign") << bad;
    }
    c.variables["BIG"] = std::string(40'000, 'x');
    EXPECT_FALSE(substitute("${BIG}${BIG}", c.from(), out, fault));
    EXPECT_EQ(fault, "longer than 64 KiB with its variables");
}

}  // namespace
}  // namespace pillion::app
