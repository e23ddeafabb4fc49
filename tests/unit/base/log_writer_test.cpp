// A log whose reader is slow, gone or greedy.
#include "base/log_writer.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.hpp"

namespace {

// What the program asks of the page cache, in order: [begin, end).
struct asked_range {
    off_t begin;
    off_t end;
};
std::vector<asked_range> asked;
int advice_takes_ms = 0;

}  // namespace

// In place of the library's: it records, and does nothing else.
extern "C" int posix_fadvise(int, off_t begin, off_t length, int advice) {
    EXPECT_EQ(advice, POSIX_FADV_DONTNEED);
    asked.push_back({begin, begin + length});
    std::this_thread::sleep_for(std::chrono::milliseconds(advice_takes_ms));
    return 0;
}

namespace pillion::log {
namespace {

class log_writers : public ::testing::Test {
 protected:
    log_writers() {
        std::signal(SIGPIPE, SIG_IGN);
        asked.clear();
        advice_takes_ms = 0;
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    }
    ~log_writers() override {
        for (const int fd : ends) {
            if (fd >= 0) {
                ::close(fd);
            }
        }
    }
    void close_end(int which) {
        ::close(ends[which]);
        ends[which] = -1;
    }
    // All that comes until the other end is closed.
    std::string rest() {
        close_end(1);
        std::string all;
        char buffer[4096];
        for (ssize_t n = 1; n > 0; all.append(buffer, static_cast<std::size_t>(n > 0 ? n : 0))) {
            n = ::read(ends[0], buffer, sizeof buffer);
        }
        return all;
    }
    // Writes some MiB in batches of `batch_bytes` to a file that has something; returns its size.
    static off_t fill_file(std::size_t batch_bytes, std::chrono::milliseconds disk_patience) {
        const int fd = ::open("/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
        EXPECT_GE(fd, 0);
        EXPECT_EQ(::ftruncate(fd, 777), 0);
        off_t size = 777;
        log_writer w(fd, std::size_t{1} << 24, disk_patience);
        const std::string lines = std::string(batch_bytes - 1, 'x') + "\n";
        while (size < 6 * mib) {
            w.put(lines, true);
            size += static_cast<off_t>(lines.size());
            while (::lseek(fd, 0, SEEK_END) < size) {
                std::this_thread::yield();
            }
        }
        EXPECT_TRUE(w.stop(60'000));
        EXPECT_EQ(w.dropped(), 0U);
        ::close(fd);
        return size;
    }
    static std::string numbered(int n) { return "line " + std::to_string(n) + "\n"; }

    static constexpr off_t mib = off_t{1} << 20;
    int ends[2] = {-1, -1};
};

TEST_F(log_writers, everything_is_written_in_order_before_the_end) {
    log_writer w(ends[1], 1 << 20);
    std::string expected;
    for (int i = 0; i < 1000; ++i) {
        expected += numbered(i);
        w.put(numbered(i), i % 100 == 0);
    }
    EXPECT_TRUE(w.stop(10'000));
    EXPECT_EQ(rest(), expected);
    EXPECT_EQ(w.dropped(), 0U);
}

TEST_F(log_writers, a_file_gets_everything_in_few_writes) {
    const int fd = ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    std::string expected;
    {
        log_writer w(fd, 1 << 24);
        for (int i = 0; i < 100'000; ++i) {
            expected += numbered(i);
            w.put(numbered(i), false);
        }
        EXPECT_TRUE(w.stop(10'000));
        EXPECT_EQ(w.dropped(), 0U);
    }
    std::string written(expected.size() + 1, '\0');
    ASSERT_EQ(::pread(fd, written.data(), written.size(), 0), ssize_t(expected.size()));
    written.pop_back();
    EXPECT_TRUE(written == expected);
    ::close(fd);
}

// 30 MB of log a second filled the page cache: each fresh page cost the calls beside it, and the
// machine's other programs theirs.
TEST_F(log_writers, of_a_file_only_the_end_stays_in_memory) {
    constexpr off_t unit = 65536;
    for (const std::size_t batch_bytes : {16384U, 65500U, 1000000U}) {
        asked.clear();
        const off_t size = fill_file(batch_bytes, std::chrono::hours(1));
        std::vector<int> times(static_cast<std::size_t>(size / unit));
        off_t end = 0;
        for (const asked_range& range : asked) {
            EXPECT_EQ(range.begin % unit, 0);
            EXPECT_EQ(range.end % unit, 0);
            EXPECT_GT(range.end, end);
            EXPECT_LE(range.end, size);
            end = range.end;
            for (off_t at = range.begin; at < range.end; at += unit) {
                ++times[static_cast<std::size_t>(at / unit)];
            }
        }
        // The first time they are written, the next they can be forgotten.
        const off_t kept = 2 * std::max<off_t>(mib / 4, static_cast<off_t>(batch_bytes)) + mib / 4;
        for (off_t at = 0; at < (size - kept) / unit; ++at) {
            EXPECT_GE(times[static_cast<std::size_t>(at)], 2) << at << " of " << batch_bytes;
        }
        EXPECT_LE(asked.size(), static_cast<std::size_t>(size / (mib / 4)));
    }
}

TEST_F(log_writers, a_disk_that_is_behind_is_left_alone) {
    advice_takes_ms = 20;
    fill_file(16384, std::chrono::milliseconds(10));
    EXPECT_EQ(asked.size(), 1U);
}

TEST_F(log_writers, a_pipe_has_no_pages_to_release) {
    std::thread reader([&] {
        char buffer[65536];
        while (::read(ends[0], buffer, sizeof buffer) > 0) {
        }
    });
    {
        log_writer w(ends[1], 1 << 24);
        w.put(std::string(4 << 20, 'x') + "\n", true);
        EXPECT_TRUE(w.stop(60'000));
    }
    close_end(1);
    reader.join();
    EXPECT_TRUE(asked.empty());
}

TEST_F(log_writers, lines_of_several_threads_stay_whole) {
    log_writer w(ends[1], 1 << 20);
    std::string all;
    std::thread reader([&] {
        char buffer[512];
        for (ssize_t n = ::read(ends[0], buffer, sizeof buffer); n > 0;
             n = ::read(ends[0], buffer, sizeof buffer)) {
            all.append(buffer, static_cast<std::size_t>(n));
        }
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&w, t] {
            for (int i = 0; i < 500; ++i) {
                w.put(
                    std::string(static_cast<std::size_t>(20 + i % 50), static_cast<char>('a' + t)) +
                        "\n",
                    false);
            }
        });
    }
    for (std::thread& one : threads) {
        one.join();
    }
    EXPECT_TRUE(w.stop(10'000));
    close_end(1);
    reader.join();
    std::size_t lines = 0;
    for (std::size_t at = 0; at < all.size(); ++lines) {
        const std::size_t end = all.find('\n', at);
        ASSERT_NE(end, all.npos);
        EXPECT_EQ(all.substr(at, end - at), std::string(end - at, all[at]));
        at = end + 1;
    }
    EXPECT_EQ(lines, 2000U);
}

TEST_F(log_writers, a_reader_that_does_not_read_costs_lines_and_no_time) {
    // The pipe holds 64 KiB, the queue as much again; the rest is dropped and counted.
    log_writer w(ends[1], 65536);
    const std::string line(1023, 'x');
    constexpr int count = 1000;
    for (int i = 0; i < count; ++i) {
        w.put(line + "\n", false);
    }
    EXPECT_FALSE(w.stop(0));
    const std::string got = rest();
    const auto written = std::count(got.begin(), got.end(), '\n');
    EXPECT_GT(written, 0);
    EXPECT_LT(written, count);
    // The line that tells of it may be among them.
    const auto lost = static_cast<std::uint64_t>(count - written);
    EXPECT_TRUE(w.dropped() == lost || w.dropped() == lost + 1) << w.dropped();
}

TEST_F(log_writers, what_was_dropped_is_told_when_there_is_room_again) {
    log_writer w(ends[1], 65536);
    const std::string line(1023, 'x');
    while (w.dropped() == 0) {
        w.put(line + "\n", false);
    }
    std::string all;
    char buffer[65536];
    while (all.find("log.dropped") == all.npos) {
        const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
        ASSERT_GT(n, 0);
        all.append(buffer, static_cast<std::size_t>(n));
        w.put("more\n", true);
    }
    EXPECT_NE(all.find(" warn log.dropped lines="), all.npos);
    std::thread reader([&] {
        while (::read(ends[0], buffer, sizeof buffer) > 0) {
        }
    });
    EXPECT_TRUE(w.stop(10'000));
    close_end(1);
    reader.join();
}

TEST_F(log_writers, a_reader_that_has_gone_ends_nothing) {
    log_writer w(ends[1], 1 << 20);
    close_end(0);
    for (int i = 0; i < 100; ++i) {
        w.put(numbered(i), true);
    }
    EXPECT_TRUE(w.stop(10'000));
    EXPECT_EQ(w.dropped(), 100U);
}

// The line that says how many were lost counted as a lost line itself.
TEST_F(log_writers, what_it_says_of_lost_lines_is_not_counted) {
    log_writer w(ends[1], 1 << 20);
    close_end(0);
    for (std::uint64_t lost = 1; lost <= 3; ++lost) {
        w.put(numbered(0), true);
        while (w.dropped() < lost) {
            std::this_thread::yield();
        }
    }
    EXPECT_TRUE(w.stop(10'000));
    EXPECT_EQ(w.dropped(), 3U);
}

TEST_F(log_writers, a_thread_that_collects_hands_over_when_it_says) {
    set_descriptor(ends[1]);
    start_writer();
    collect(true);
    info("first");
    info("second", {kv("n", 2)});
    hand_over();
    collect(false);
    info("third");
    stop_writer(10'000);
    info("directly");
    set_descriptor(2);
    const std::string all = rest();
    std::size_t at = 0;
    for (const char* text :
         {" info first\n", " info second n=2\n", " info third\n", " info directly\n"}) {
        const std::size_t found = all.find(text, at);
        EXPECT_NE(found, all.npos) << text << " in " << all;
        at = found == all.npos ? at : found;
    }
}

}  // namespace
}  // namespace pillion::log
