// watch: every kind of change is told, once, also when the kernel's queue or its watches run out.
#include "files/watch.hpp"

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "temporary_tree.hpp"

namespace pillion::files {
namespace {

using namespace std::chrono_literals;

// Collects what is told. With the gate shut, the watching thread waits in updated().
class listener {
 public:
    watch_sink sink() {
        watch_sink out;
        out.updated = [this](std::string_view path) {
            std::unique_lock lock(mutex_);
            updates_.emplace_back(path);
            changed_.notify_all();
            changed_.wait(lock, [this] { return !shut_; });
        };
        out.listed = [this] {
            const std::lock_guard lock(mutex_);
            ++lists_;
            changed_.notify_all();
        };
        out.wanted = [this] {
            const std::lock_guard lock(mutex_);
            ++looks_;
            changed_.notify_all();
            return wanted_;
        };
        return out;
    }
    void want(std::vector<std::string> paths) {
        const std::lock_guard lock(mutex_);
        wanted_ = std::move(paths);
    }
    // All has been looked at from the beginning, so many times over.
    bool wait_for_looks(int count) {
        return wait([&, until = looks_ + count] { return looks_ >= until; });
    }
    bool wait_for(std::string_view path) {
        return wait([&] { return count(path) > 0; });
    }
    bool wait_for_list() {
        return wait([&] { return lists_ > 0; });
    }
    long told(std::string_view path) {
        const std::lock_guard lock(mutex_);
        return count(path);
    }
    int lists() {
        const std::lock_guard lock(mutex_);
        return lists_;
    }
    void clear() {
        const std::lock_guard lock(mutex_);
        updates_.clear();
        lists_ = 0;
    }
    void shut(bool yes) {
        const std::lock_guard lock(mutex_);
        shut_ = yes;
        changed_.notify_all();
    }

 private:
    long count(std::string_view path) const {
        return std::count(updates_.begin(), updates_.end(), path);
    }
    template <class Condition>
    bool wait(Condition met) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 20s, met);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> updates_;
    std::vector<std::string> wanted_;
    int looks_ = 0;
    int lists_ = 0;
    bool shut_ = false;
};

void settle(const watch& one) {
    for (int i = 0; i < 20'000 && !one.settled(); ++i) {
        ::usleep(1000);
    }
    ASSERT_TRUE(one.settled());
}

TEST(watch, a_change_is_told_and_so_are_new_and_removed_files) {
    const temporary_tree tmp;
    tmp.file("a");
    tmp.file("d/e/b");
    const tree served = tmp.open();
    listener heard;
    const watch one(served, heard.sink());
    settle(one);
    tmp.file("d/e/b", "new");
    ASSERT_TRUE(heard.wait_for("d/e/b"));
    EXPECT_EQ(heard.lists(), 0);
    tmp.file("d/new");
    ASSERT_TRUE(heard.wait_for("d/new"));
    ASSERT_TRUE(heard.wait_for_list());
    heard.clear();
    std::filesystem::remove(tmp.at("a"));
    ASSERT_TRUE(heard.wait_for("a"));
    ASSERT_TRUE(heard.wait_for_list());
    EXPECT_EQ(heard.told("d/e/b"), 0);
}

TEST(watch, many_writes_are_told_once_when_it_is_quiet) {
    const temporary_tree tmp;
    tmp.file("a");
    const tree served = tmp.open();
    listener heard;
    watch_limits limits;
    limits.settle_ms = 300;
    limits.settle_max_ms = 60'000;
    const watch one(served, heard.sink(), limits);
    settle(one);
    for (int i = 0; i < 100; ++i) {
        tmp.file("a", std::to_string(i));
    }
    ASSERT_TRUE(heard.wait_for("a"));
    tmp.file("end");
    ASSERT_TRUE(heard.wait_for("end"));
    EXPECT_EQ(heard.told("a"), 1);
}

// A log that lies in a watched directory woke the thread with every write.
TEST(watch, the_events_of_a_busy_file_are_left_together_for_a_while) {
    const temporary_tree tmp;
    tmp.file("a");
    const tree served = tmp.open();
    listener heard;
    watch_limits limits;
    limits.gather_ms = 20;
    const watch one(served, heard.sink(), limits);
    settle(one);
    const std::uint64_t before = one.reads();
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 300; ++i) {
        tmp.file("a", std::to_string(i));
        ::usleep(500);
    }
    ASSERT_TRUE(heard.wait_for("a"));
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(one.reads() - before, 1u);
    EXPECT_LE(one.reads() - before, static_cast<std::uint64_t>(took / 19ms) + 2);
}

TEST(watch, a_file_that_never_rests_is_told_all_the_same) {
    const temporary_tree tmp;
    tmp.file("a");
    const tree served = tmp.open();
    listener heard;
    watch_limits limits;
    limits.settle_ms = 60'000;
    limits.settle_max_ms = 50;
    const watch one(served, heard.sink(), limits);
    settle(one);
    tmp.file("a", "1");
    EXPECT_TRUE(heard.wait_for("a"));
}

TEST(watch, a_file_replaced_by_a_rename_is_told) {
    const temporary_tree tmp;
    tmp.file("a");
    const tree served = tmp.open();
    listener heard;
    const watch one(served, heard.sink());
    settle(one);
    tmp.file("a.tmp", "new");
    std::filesystem::rename(tmp.at("a.tmp"), tmp.at("a"));
    EXPECT_TRUE(heard.wait_for("a"));
    EXPECT_TRUE(heard.wait_for_list());
}

TEST(watch, new_and_moved_directories_are_followed) {
    const temporary_tree tmp;
    tmp.file("d/sub/a");
    const tree served = tmp.open();
    listener heard;
    const watch one(served, heard.sink());
    settle(one);
    tmp.file("x/y/z/a");
    ASSERT_TRUE(heard.wait_for("x/y/z/a"));
    heard.clear();
    tmp.file("x/y/z/a", "again");
    ASSERT_TRUE(heard.wait_for("x/y/z/a"));
    std::filesystem::rename(tmp.at("d"), tmp.at("moved"));
    ASSERT_TRUE(heard.wait_for("moved/sub/a"));
    ASSERT_TRUE(heard.wait_for_list());
    heard.clear();
    tmp.file("moved/sub/a", "2");
    ASSERT_TRUE(heard.wait_for("moved/sub/a"));
    EXPECT_EQ(heard.told("d/sub/a"), 0);
    std::filesystem::remove_all(tmp.at("moved"));
    EXPECT_TRUE(heard.wait_for_list());
    tmp.file("moved/sub/a", "3");
    heard.clear();
    tmp.file("moved/sub/b", "4");
    EXPECT_TRUE(heard.wait_for("moved/sub/b"));
}

// Only listings were told: who had subscribed to a file in it never heard that it was gone.
TEST(watch, what_is_wanted_in_a_directory_that_is_renamed_away_is_told) {
    const temporary_tree tmp;
    for (const char* const path : {"d/a", "d/sub/a", "d/sub/b", "d2/a"}) {
        tmp.file(path);
    }
    const tree served = tmp.open();
    listener heard;
    heard.want({"d/a", "d/sub/a", "d2/a"});
    const watch one(served, heard.sink());
    settle(one);
    heard.clear();
    std::filesystem::rename(tmp.at("d"), tmp.at("../away"));
    EXPECT_TRUE(heard.wait_for("d/sub/a"));
    EXPECT_TRUE(heard.wait_for("d/a"));
    EXPECT_TRUE(heard.wait_for_list());
    EXPECT_EQ(heard.told("d/sub/b") + heard.told("d2/a"), 0);
}

TEST(watch, hidden_and_ignored_places_are_not_watched) {
    const temporary_tree tmp;
    tmp.file(".gitignore", "out/\n*.log\n");
    tmp.file("out/a");
    tmp.file(".git/a");
    const tree served = tmp.open();
    listener heard;
    const watch one(served, heard.sink());
    settle(one);
    tmp.file("out/a", "2");
    tmp.file(".git/a", "2");
    tmp.file(".dot", "2");
    tmp.file("x.log", "2");
    ASSERT_TRUE(heard.wait_for("x.log"));  // it can be read by name
    EXPECT_EQ(heard.lists(), 0);
    EXPECT_EQ(heard.told("out/a") + heard.told(".git/a") + heard.told(".dot"), 0);
    tmp.file(".gitignore", "\n");
    ASSERT_TRUE(heard.wait_for_list());
    for (int i = 0; i < 2000 && heard.told("out/a") == 0; ++i) {
        tmp.file("out/a", "3");
        ::usleep(10'000);
    }
    EXPECT_GT(heard.told("out/a"), 0);
}

TEST(watch, after_an_overflow_all_that_changed_is_told) {
    const temporary_tree tmp;
    tmp.file("a");
    tmp.file("b");
    tmp.file("d/c");
    tmp.file("old/c");
    const tree served = tmp.open();
    listener heard;
    const watch one(served, heard.sink());
    settle(one);
    ::usleep(300'000);  // so that "old/c" is older than the clock's slack
    heard.shut(true);
    tmp.file("a", "gate");
    ASSERT_TRUE(heard.wait_for("a"));
    std::ofstream first(tmp.at("a"));
    std::ofstream second(tmp.at("b"));
    for (int i = 0; i < 12'000; ++i) {
        first << 'x' << std::flush;
        second << 'x' << std::flush;
    }
    tmp.file("d/c", "lost");
    tmp.file("n/new", "lost");
    std::filesystem::rename(tmp.at("old"), tmp.at("young"));
    heard.shut(false);
    EXPECT_TRUE(heard.wait_for("d/c"));
    EXPECT_TRUE(heard.wait_for("n/new"));
    EXPECT_TRUE(heard.wait_for_list());
    settle(one);
    for (int i = 0; i < 2000 && heard.told("young/c") == 0; ++i) {
        tmp.file("young/c", "2");
        ::usleep(10'000);
    }
    EXPECT_GT(heard.told("young/c"), 0);
    EXPECT_EQ(heard.told("old/c"), 0);
}

watch_limits short_of_watches(std::size_t directories_max) {
    watch_limits limits;
    limits.directories_max = directories_max;
    limits.poll_ms = 20;
    limits.settle_ms = 1;
    return limits;
}

// Where watches ran out the whole tree was gone through, and changes were told that nobody wanted
// to hear of.
TEST(watch, without_watches_only_what_is_wanted_is_looked_at) {
    const temporary_tree tmp;
    for (const char* path : {"a/x", "a/y", "b/x"}) {
        tmp.file(path);
    }
    const tree served = tmp.open();
    log::set_level(log::level::off);
    listener heard;
    heard.want({"a/x", "none/yet"});
    const watch one(served, heard.sink(), short_of_watches(0));
    settle(one);
    ASSERT_TRUE(heard.wait_for_looks(2));
    heard.clear();
    for (const char* path : {"a/y", "b/x", "a/x"}) {
        tmp.file(path, "new");
    }
    ASSERT_TRUE(heard.wait_for("a/x"));
    tmp.file("none/yet", "made");
    ASSERT_TRUE(heard.wait_for("none/yet"));
    heard.clear();
    std::filesystem::remove(tmp.at("a/x"));
    ASSERT_TRUE(heard.wait_for("a/x"));
    // Another becomes interesting; the first one no more.
    heard.want({"b/x"});
    ASSERT_TRUE(heard.wait_for_looks(2));
    heard.clear();
    tmp.file("a/x", "again");
    tmp.file("b/x", "again");
    ASSERT_TRUE(heard.wait_for("b/x"));
    ASSERT_TRUE(heard.wait_for_looks(2));
    EXPECT_EQ(heard.told("a/x"), 0);
    EXPECT_EQ(heard.told("a/y"), 0);
    log::set_level(log::level::info);
}

TEST(watch, without_watches_listings_are_told_by_the_times_of_directories) {
    const temporary_tree tmp;
    tmp.file("a/b/x");
    tmp.file("c");
    const tree served = tmp.open();
    log::set_level(log::level::off);
    listener heard;
    const watch one(served, heard.sink(), short_of_watches(0));
    settle(one);
    ASSERT_TRUE(heard.wait_for_looks(3));
    heard.clear();
    // Contents change no listing.
    tmp.file("a/b/x", "new");
    ASSERT_TRUE(heard.wait_for_looks(3));
    EXPECT_EQ(heard.lists(), 0);
    for (const char* path : {"a/b/y", "d/e/f/z", "d/e/f/y", "top"}) {
        tmp.file(path);
        EXPECT_TRUE(heard.wait_for_list()) << path;
        ASSERT_TRUE(heard.wait_for_looks(3));
        heard.clear();
    }
    std::filesystem::remove_all(tmp.at("d"));
    EXPECT_TRUE(heard.wait_for_list());
    log::set_level(log::level::info);
}

TEST(watch, without_enough_watches_changes_are_still_told) {
    const temporary_tree tmp;
    for (const char* path : {"a/x", "b/x", "c/x", "c/d/x"}) {
        tmp.file(path);
    }
    const tree served = tmp.open();
    for (const std::size_t most : {0U, 1U, 2U, 3U}) {
        listener heard;
        heard.want({"a/x", "b/x", "c/x", "c/d/x"});
        log::set_level(log::level::off);
        const watch one(served, heard.sink(), short_of_watches(most));
        settle(one);
        for (const char* path : {"a/x", "b/x", "c/x", "c/d/x"}) {
            tmp.file(path, "new");
            EXPECT_TRUE(heard.wait_for(path)) << most << ' ' << path;
        }
        heard.clear();
        tmp.file("c/d/made" + std::to_string(most));
        EXPECT_TRUE(heard.wait_for_list()) << most;
        log::set_level(log::level::info);
    }
}

TEST(watch, stops_at_any_time) {
    const temporary_tree tmp;
    for (int i = 0; i < 300; ++i) {
        tmp.file("d" + std::to_string(i) + "/a");
    }
    const tree served = tmp.open();
    for (int i = 0; i < 20; ++i) {
        listener heard;
        const watch one(served, heard.sink());
        ::usleep(static_cast<useconds_t>(i * 500));
    }
}

}  // namespace
}  // namespace pillion::files
