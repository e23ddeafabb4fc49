#include "base/log.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/iso_time.hpp"
#include "base/log_line.hpp"

namespace pillion::log {
namespace {

class log_test : public ::testing::Test {
 protected:
    void SetUp() override {
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        set_descriptor(ends[1]);
    }
    void TearDown() override {
        set_descriptor(2);
        set_level(level::info);
        set_format(format::text);
        ::close(ends[0]);
        ::close(ends[1]);
    }
    // What was logged, without the time in front.
    std::string taken() {
        char buf[8192];
        const ssize_t n = ::read(ends[0], buf, sizeof buf);
        return n <= 0 ? "" : std::string(buf, static_cast<std::size_t>(n));
    }
    int ends[2] = {-1, -1};
};

TEST_F(log_test, text_line) {
    info("http.accept", {kv("peer", "127.0.0.1:5"), kv("n", -3), kv("u", 7U), kv("ok", true),
                         kv("r", 0.5), kv("empty", ""), kv_word("w", "tools/call")});
    EXPECT_EQ(taken().substr(24),
              " info http.accept peer=127.0.0.1:5 n=-3 u=7 ok=true r=0.5 empty=\"\" "
              "w=tools/call\n");
}

TEST_F(log_test, numbers_of_every_length) {
    info("n", {kv("max", std::numeric_limits<std::uint64_t>::max()), kv("zero", 0),
               kv("min", std::numeric_limits<std::int64_t>::min()), kv("ten", 10U)});
    EXPECT_EQ(taken().substr(24),
              " info n max=18446744073709551615 zero=0 min=-9223372036854775808 ten=10\n");
}

TEST_F(log_test, json_line) {
    set_format(format::json);
    error("x.y", {kv("a", "q\"\\\n\x01\xff"), kv("n", std::numeric_limits<std::int64_t>::min()),
                  kv_word("w", "ok")});
    const std::string line = taken();
    EXPECT_EQ(line.substr(line.find("\"level\"")),
              "\"level\":\"error\",\"event\":\"x.y\",\"a\":\"q\\\"\\\\\\n\\u0001\\u00ff\","
              "\"n\":-9223372036854775808,\"w\":\"ok\"}\n");
}

TEST_F(log_test, nothing_a_peer_sends_breaks_the_line) {
    std::string every;
    for (int c = 0; c < 256; ++c) {
        every += static_cast<char>(c);
    }
    for (const format f : {format::text, format::json}) {
        set_format(f);
        info("e", {kv("k", every), kv("after", 1)});
        const std::string line = taken();
        EXPECT_EQ(line.find('\n'), line.size() - 1);
        for (const char c : line.substr(0, line.size() - 1)) {
            EXPECT_TRUE(c >= ' ' && c < 0x7f);
        }
    }
}

// Eight bytes are looked at together: each byte in each place of them and behind them.
TEST_F(log_test, what_needs_quotes_has_them_wherever_it_stands) {
    set_format(format::text);
    for (std::size_t size = 1; size <= 35; size += size == 18 ? 13 : 1) {
        for (std::size_t at = 0; at < size; ++at) {
            for (int byte = 0; byte < 256; ++byte) {
                std::string value(size, 'v');
                const char c = value[at] = static_cast<char>(byte);
                const bool plain = byte > ' ' && byte < 0x7f && c != '"' && c != '=' && c != '\\';
                set_format(format::text);
                info("e", {kv("k", value)});
                const std::string line = taken();
                ASSERT_EQ(line.ends_with(" k=" + value + "\n"), plain) << byte << " at " << at;
                ASSERT_EQ(line.find(" k=\"") != std::string::npos, !plain) << byte << " at " << at;
                set_format(format::json);
                info("e", {kv("k", value)});
                const bool as_it_is = byte >= ' ' && byte < 0x7f && c != '"' && c != '\\';
                ASSERT_EQ(taken().find("\"k\":\"" + value + "\"}") != std::string::npos, as_it_is)
                    << byte << " at " << at;
            }
        }
    }
}

TEST_F(log_test, nothing_is_quoted) {
    for (const format f : {format::text, format::json}) {
        set_format(f);
        info("e", {kv("k", std::string_view{})});
        const std::string line = taken();
        EXPECT_TRUE(line.ends_with(f == format::text ? " k=\"\"\n" : ",\"k\":\"\"}\n")) << line;
    }
}

TEST_F(log_test, the_time_is_that_of_each_line) {
    set_format(format::text);
    std::string before;
    for (int i = 0; i < 15; ++i) {
        info("e", {});
        const std::string stamp = taken().substr(0, 24);
        const auto now = std::chrono::floor<std::chrono::milliseconds>(
            std::chrono::system_clock::now().time_since_epoch());
        ASSERT_EQ(stamp.size(), 24U);
        ASSERT_EQ(stamp[10], 'T');
        ASSERT_GE(stamp, before);
        ASSERT_LE(stamp, base::iso_time(now.count()).text());
        before = stamp;
        std::this_thread::sleep_for(std::chrono::milliseconds(70));
    }
}

// The time of day is kept for the millisecond behind the reading it came with, and no longer,
// wherever the other clock goes.
TEST_F(log_test, the_time_of_day_is_read_again_when_the_other_clock_has_gone_on) {
    set_format(format::text);
    const auto stamp_at = [&](std::int64_t now_ns) {
        info_at(now_ns, "e");
        return taken().substr(0, 24);
    };
    const auto now = [] { return std::string(base::iso_time(base::unix_now_ms()).text()); };
    std::int64_t at_ns = 5;
    for (const std::int64_t moved_ns :
         {std::int64_t{1'000'000}, std::int64_t{3'600'000'000'000}, std::int64_t{-1},
          std::int64_t{-3'600'000'000'000}, INT64_MAX / 2, -(INT64_MAX / 2)}) {
        at_ns += moved_ns;
        const std::string before = now();
        const std::string stamp = stamp_at(at_ns);
        ASSERT_LE(before, stamp) << moved_ns;
        ASSERT_LE(stamp, now()) << moved_ns;
    }
    const std::string first = stamp_at(at_ns);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const std::string kept = stamp_at(at_ns);
    ASSERT_EQ(kept, first);
    ASSERT_LT(kept, now());
    ASSERT_LE(kept, stamp_at(at_ns + 999'999));
    ASSERT_LT(kept, stamp_at(at_ns + 1'000'000));
}

// Lines of one millisecond begin with a copy of what the last one began with, if that is the same.
TEST_F(log_test, lines_that_follow_each_other_begin_with_what_is_theirs) {
    const std::string longest(64, 'e');
    const std::string longer(65, 'e');
    const std::string_view events[] = {"a.b", "a.c", "a", "a.b", longest, longer, "", "a.b"};
    for (const format f : {format::text, format::json, format::text}) {
        set_format(f);
        for (const std::string_view event : events) {
            for (const level l : {level::warn, level::info, level::error}) {
                const std::string name = l == level::warn   ? "warn"
                                         : l == level::info ? "info"
                                                            : "error";
                write(l, event, {kv("k", 1)});
                const std::string want = f == format::text
                                             ? " " + name + " " + std::string(event) + " k=1\n"
                                             : "\",\"level\":\"" + name + "\",\"event\":\"" +
                                                   std::string(event) + "\",\"k\":1}\n";
                const std::string line = taken();
                ASSERT_EQ(line.substr(f == format::text ? 24 : 33), want);
            }
        }
    }
}

TEST_F(log_test, long_values_are_cut_at_every_length_and_marked) {
    for (std::size_t size = 1800; size < 2300; ++size) {
        const std::string value(size, 'v');
        set_format(format::json);
        info("e", {kv("k", value), kv("n", 12345678), kv("t", "tail")});
        const std::string line = taken();
        ASSERT_LE(line.size(), 2048U);
        ASSERT_EQ(line.substr(line.size() - 2), "}\n");
        ASSERT_EQ(std::count(line.begin(), line.end(), '"') % 2, 0) << size;
        const bool whole = line.find("\"tail\"") != std::string::npos;
        ASSERT_EQ(whole, line.find("\"cut\":true") == std::string::npos) << size;
    }
}

TEST_F(log_test, so_are_those_of_plain_lines) {
    for (std::size_t size = 1800; size < 2300; ++size) {
        const std::string value(size, 'v');
        info("e", {kv("k", value), kv("n", 12345678), kv_word("w", "word"), kv("t", "tail")});
        const std::string line = taken();
        ASSERT_LE(line.size(), 2048U);
        ASSERT_EQ(line.find('\n'), line.size() - 1);
        const bool whole = line.ends_with(" k=" + value + " n=12345678 w=word t=tail\n");
        ASSERT_EQ(whole, !line.ends_with(" cut=true\n")) << size;
        // A number or a word is there or not, and nothing follows one that is not.
        const bool number = line.find(" n=") != line.npos;
        ASSERT_EQ(number, line.find(" n=12345678 ") != line.npos) << size;
        ASSERT_LE(line.find(" w=") != line.npos, number) << size;
        ASSERT_EQ(line.find(" w=") != line.npos, line.find(" w=word ") != line.npos) << size;
    }
}

TEST_F(log_test, levels) {
    debug("no");
    EXPECT_EQ(taken(), "");
    set_level(level::debug);
    debug("yes");
    EXPECT_NE(taken(), "");
    set_level(level::off);
    error("no");
    EXPECT_EQ(taken(), "");
    level l = level::info;
    EXPECT_TRUE(parse_level("warn", l));
    EXPECT_EQ(l, level::warn);
    EXPECT_FALSE(parse_level("loud", l));
}

}  // namespace
}  // namespace pillion::log
