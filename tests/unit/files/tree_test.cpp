// tree: what is served and what is not, also against links, special files and races.
#include "files/tree.hpp"

#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "temporary_tree.hpp"

namespace pillion::files {
namespace {

std::vector<std::string> paths(const page& from) {
    std::vector<std::string> out;
    for (const entry& one : from.entries) {
        out.push_back(one.path);
    }
    return out;
}

std::vector<std::string> listed(const tree& served, std::string_view path = {}) {
    auto got = served.list(path, "", page_entries_max);
    EXPECT_TRUE(got);
    return got ? paths(*got) : std::vector<std::string>();
}

errc read_fault(const tree& served, std::string_view path) {
    auto got = served.read(path, 0, 10);
    EXPECT_FALSE(got) << path;
    return got ? errc::internal : got.error().kind;
}

TEST(tree, opens_directories_only) {
    const temporary_tree tmp;
    tmp.file("f");
    EXPECT_EQ(tree::open(tmp.at("none").string(), options()).error().kind, errc::not_found);
    EXPECT_EQ(tree::open(tmp.at("f").string(), options()).error().kind, errc::invalid);
}

TEST(tree, root_and_home_are_refused_as_default) {
    const temporary_tree tmp;
    EXPECT_TRUE(tmp.open().check_default_root());
    EXPECT_FALSE(tree::open("/", options())->check_default_root());
    const char* const home = std::getenv("HOME");
    const std::string before = home != nullptr ? home : "";
    ::setenv("HOME", (tmp.at().string() + "/.").c_str(), 1);
    EXPECT_EQ(tmp.open().check_default_root().error().kind, errc::denied);
    ::setenv("HOME", before.c_str(), 1);
}

TEST(tree, reads_ranges) {
    const temporary_tree tmp;
    tmp.file("d/f", "0123456789");
    const tree served = tmp.open();
    for (std::size_t from = 0; from <= 12; ++from) {
        for (std::size_t count = 0; count <= 12; ++count) {
            auto got = served.read("d/f", from, count);
            ASSERT_TRUE(got);
            EXPECT_EQ(got->bytes, from < 10 ? std::string("0123456789").substr(from, count) : "");
            EXPECT_EQ(got->size_total, 10U);
        }
    }
    EXPECT_EQ(served.read("d/f", UINT64_MAX, 10)->bytes, "");
    tmp.file("big", std::string(read_bytes_max + 5, 'b'));
    EXPECT_EQ(served.read("big", 0, SIZE_MAX)->bytes.size(), read_bytes_max);
    EXPECT_EQ(served.read("big", read_bytes_max, SIZE_MAX)->bytes, "bbbbb");
}

// Files of /sys say 4096 bytes and have a few: there was always more to read, and never any.
TEST(tree, a_file_that_is_shorter_than_it_says_ends_where_it_ends) {
    const auto opened = tree::open("/sys/kernel", options());
    const auto what = opened ? opened->stat("uevent_seqnum") : opened.error();
    if (!what || what->size < 100) {
        GTEST_SKIP() << "there is no such file";
    }
    const auto all = opened->read("uevent_seqnum", 0, 5000);
    ASSERT_TRUE(all);
    ASSERT_GT(all->bytes.size(), 0U);
    EXPECT_EQ(all->size_total, all->bytes.size());
    const auto behind = opened->read("uevent_seqnum", 50, 10);
    ASSERT_TRUE(behind);
    EXPECT_EQ(behind->bytes, "");
    EXPECT_EQ(behind->size_total, 50U);
}

TEST(tree, stat_tells_kind_size_and_time) {
    const temporary_tree tmp;
    tmp.file("f", "abc");
    tmp.link("l", "f");
    const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, tmp.at("f").c_str(), times, 0), 0);
    const tree served = tmp.open();
    const auto file = served.stat("f");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->kind, entry_kind::file);
    EXPECT_EQ(file->size, 3U);
    EXPECT_EQ(file->modified_s, 1'000'000'000);
    EXPECT_FALSE(file->linked);
    EXPECT_TRUE(served.stat("l")->linked);
    EXPECT_EQ(served.stat("l")->size, 3U);
    EXPECT_EQ(served.stat("")->kind, entry_kind::directory);
}

TEST(tree, refuses_every_way_out) {
    const temporary_tree tmp;
    tmp.file("d/f");
    tmp.file("../secret", "secret");
    tmp.link("up", "../secret");
    tmp.link("up2", "d/../../secret");
    tmp.link("absolute", "/etc/passwd");
    tmp.link("absolute_inside", tmp.at("d/f").string());
    tmp.link("chain", "up");
    tmp.link("outer", "..");
    const tree served = tmp.open();
    for (const std::string_view path :
         {"../secret", "/etc/passwd", "d/../../secret", "d/..", "d/./f", "d//f", "d/", "."}) {
        EXPECT_EQ(read_fault(served, path), errc::invalid);
        EXPECT_FALSE(served.stat(path));
        EXPECT_FALSE(served.list(path, "", 10));
        EXPECT_FALSE(served.walk(path, "", 10, true));
    }
    for (const std::string_view path :
         {"up", "up2", "absolute", "absolute_inside", "chain", "outer/secret"}) {
        EXPECT_EQ(read_fault(served, path), errc::denied) << path;
        EXPECT_FALSE(served.stat(path));
    }
    EXPECT_EQ(read_fault(served, std::string_view("d/f\0x", 5)), errc::invalid);
    EXPECT_EQ(listed(served), std::vector<std::string>{"d"});
}

TEST(tree, links_that_stay_inside_are_followed) {
    const temporary_tree tmp;
    tmp.file("d/f", "inside");
    tmp.link("direct", "d/f");
    tmp.link("e/back", "../d/f");
    tmp.link("dir", "d");
    tmp.link("loop", "loop");
    tmp.link("a", "b");
    tmp.link("b", "a");
    tmp.link("dangling", "nothing");
    const tree served = tmp.open();
    for (const std::string_view path : {"direct", "e/back", "dir/f"}) {
        EXPECT_EQ(served.read(path, 0, 100)->bytes, "inside") << path;
    }
    EXPECT_EQ(read_fault(served, "loop"), errc::denied);
    EXPECT_EQ(read_fault(served, "a"), errc::denied);
    EXPECT_EQ(read_fault(served, "dangling"), errc::not_found);
    EXPECT_EQ(listed(served), (std::vector<std::string>{"d", "dir", "direct", "e"}));
    EXPECT_EQ(listed(served, "dir"), std::vector<std::string>{"dir/f"});
}

TEST(tree, dot_names_do_not_exist_also_not_behind_links) {
    const temporary_tree tmp;
    tmp.file(".env", "key");
    tmp.file(".git/config", "key");
    tmp.file("d/.x", "key");
    tmp.link("env", ".env");
    tmp.link("git", ".git");
    tmp.link("through", "d/../.git/config");
    const tree served = tmp.open();
    for (const std::string_view path :
         {".env", ".git/config", "d/.x", "env", "git/config", "through", ".none"}) {
        EXPECT_EQ(read_fault(served, path), errc::not_found) << path;
    }
    EXPECT_FALSE(served.list(".git", "", 10));
    EXPECT_FALSE(served.list("git", "", 10));
    EXPECT_EQ(listed(served), std::vector<std::string>{"d"});
    const tree open = tmp.open(true);
    EXPECT_EQ(open.read("env", 0, 9)->bytes, "key");
    EXPECT_EQ(open.read("git/config", 0, 9)->bytes, "key");
    EXPECT_EQ(listed(open),
              (std::vector<std::string>{".env", ".git", "d", "env", "git", "through"}));
}

TEST(tree, a_root_below_a_dot_directory_is_served) {
    const temporary_tree tmp;
    tmp.file(".hidden/f", "x");
    tmp.link(".hidden/l", "f");
    const auto served = tree::open(tmp.at(".hidden").string(), options());
    ASSERT_TRUE(served);
    EXPECT_EQ(served->read("l", 0, 9)->bytes, "x");
}

TEST(tree, special_files_are_never_opened) {
    const temporary_tree tmp;
    tmp.fifo("fifo");
    tmp.socket("socket");
    tmp.link("to_fifo", "fifo");
    tmp.file("f");
    const bool device = ::mknod(tmp.at("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
    const tree served = tmp.open();
    for (const std::string_view path : {"fifo", "socket", "to_fifo"}) {
        EXPECT_EQ(read_fault(served, path), errc::unsupported) << path;
        EXPECT_FALSE(served.stat(path)) << path;
    }
    if (device) {
        EXPECT_EQ(read_fault(served, "null"), errc::unsupported);
    }
    EXPECT_EQ(read_fault(served, ""), errc::unsupported);
    EXPECT_EQ(listed(served), std::vector<std::string>{"f"});
    EXPECT_EQ(served.list("f", "", 10).error().kind, errc::invalid);
}

TEST(tree, names_that_are_no_utf8_are_skipped) {
    const temporary_tree tmp;
    tmp.file("bad\xFF");
    tmp.file("d\xC3/f");
    tmp.file("g\xC3\xBCt");
    EXPECT_EQ(listed(tmp.open()), std::vector<std::string>{"g\xC3\xBCt"});
}

// Permissions bind everybody but root, so the checks run in a child without its rights.
TEST(tree, what_may_not_be_read_is_denied) {
    const temporary_tree tmp;
    tmp.file("open/f");
    tmp.file("closed/f");
    tmp.file("unreadable");
    ::chmod(tmp.at("..").c_str(), 0755);
    ::chmod(tmp.at("closed").c_str(), 0000);
    ::chmod(tmp.at("unreadable").c_str(), 0000);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) {
            ::_exit(2);
        }
        const tree served = tmp.open();
        int faults = 0;
        faults += served.read("unreadable", 0, 1).error().kind == errc::denied ? 0 : 1;
        faults += served.read("closed/f", 0, 1).error().kind == errc::denied ? 0 : 1;
        faults += served.list("closed", "", 9).error().kind == errc::denied ? 0 : 1;
        const std::vector<std::string> all = {"closed", "open", "open/f", "unreadable"};
        faults += paths(*served.walk("", "", 9, true)) == all ? 0 : 1;
        ::_exit(faults == 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ::chmod(tmp.at("closed").c_str(), 0700);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(tree, lists_page_by_page_also_when_after_has_vanished) {
    const temporary_tree tmp;
    for (const char* name : {"a", "c", "e", "g"}) {
        tmp.file(std::string("d/") + name);
    }
    const tree served = tmp.open();
    auto first = served.list("d", "", 2);
    EXPECT_EQ(paths(*first), (std::vector<std::string>{"d/a", "d/c"}));
    EXPECT_TRUE(first->more);
    EXPECT_EQ(first->next, "d/c");
    std::filesystem::remove(tmp.at("d/c"));
    auto second = served.list("d", first->next, 2);
    EXPECT_EQ(paths(*second), (std::vector<std::string>{"d/e", "d/g"}));
    EXPECT_FALSE(second->more);
    EXPECT_EQ(paths(*served.list("d", "d/f", 9)), std::vector<std::string>{"d/g"});
    EXPECT_FALSE(served.list("d", "e/a", 9));
    EXPECT_FALSE(served.list("d", "a", 9));
    EXPECT_FALSE(served.list("d", "../a", 9));
}

TEST(tree, a_directory_of_five_thousand_files_is_listed_once_each) {
    const temporary_tree tmp;
    for (int i = 0; i < 5000; ++i) {
        tmp.file("d/file" + std::to_string(i), "");
    }
    tmp.fifo("d/aaa");
    const tree served = tmp.open();
    std::vector<std::string> got;
    std::string after;
    for (bool more = true; more;) {
        auto part = served.list("d", after, 333);
        ASSERT_TRUE(part);
        for (const std::string& path : paths(*part)) {
            got.push_back(path);
        }
        more = part->more;
        after = part->next;
    }
    EXPECT_EQ(got.size(), 5000U);
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
}

// A directory and a link that leads out change places while files are read.
TEST(tree, a_swap_of_names_between_calls_never_leads_out) {
    const temporary_tree tmp;
    tmp.file("d/f", "inside");
    tmp.file("../out/f", "outside");
    tmp.link("l", "../out");
    const tree served = tmp.open();
    std::atomic<bool> done = false;
    std::thread swapper([&] {
        const std::string a = tmp.at("d");
        const std::string b = tmp.at("l");
        while (!done) {
            ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
        }
    });
    int read_inside = 0;
    for (int i = 0; i < 20'000; ++i) {
        auto got = served.read("d/f", 0, 100);
        if (got) {
            ASSERT_EQ(got->bytes, "inside");
            ++read_inside;
        }
        auto names = served.walk("", "", 10, false);
        ASSERT_TRUE(names);
        for (const entry& one : names->entries) {
            ASSERT_EQ(one.size, 6U);
        }
    }
    done = true;
    swapper.join();
    EXPECT_GT(read_inside, 0);
}

// A regular file and a FIFO change places: the reader must neither hang nor touch the FIFO.
TEST(tree, a_swap_with_a_fifo_never_blocks) {
    const temporary_tree tmp;
    tmp.file("f", "inside");
    tmp.fifo("p");
    const tree served = tmp.open();
    std::atomic<bool> done = false;
    std::thread swapper([&] {
        const std::string a = tmp.at("f");
        const std::string b = tmp.at("p");
        while (!done) {
            ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
        }
    });
    for (int i = 0; i < 20'000; ++i) {
        auto got = served.read("f", 0, 100);
        if (got) {
            ASSERT_EQ(got->bytes, "inside");
        }
    }
    done = true;
    swapper.join();
}

std::vector<std::string> completed(const tree& served, std::string_view typed,
                                   std::size_t entries_max = 100) {
    const auto all = [](std::string_view) { return true; };
    const auto got = served.complete(typed, entries_max, all);
    return got ? got->paths : std::vector<std::string>{got.error().detail};
}

TEST(tree, completes_paths_a_level_at_a_time) {
    const temporary_tree tmp;
    for (const char* path : {"a", "ab", "a-c", "d/e/f", "d.txt", ".dot/x", "out/x"}) {
        tmp.file(path);
    }
    tmp.file(".gitignore", "out/\n");
    tmp.link("to", "d");
    const tree served = tmp.open();
    using names = std::vector<std::string>;
    EXPECT_EQ(completed(served, ""), (names{"a", "a-c", "ab", "d/", "d.txt", "to/"}));
    EXPECT_EQ(completed(served, "a"), (names{"a", "a-c", "ab"}));
    EXPECT_EQ(completed(served, "d"), (names{"d/", "d.txt"}));
    EXPECT_EQ(completed(served, "d/"), names{"d/e/"});
    EXPECT_EQ(completed(served, "d/e/f"), names{"d/e/f"});
    EXPECT_EQ(completed(served, "a", 2), (names{"a", "a-c"}));
    for (const std::string_view none :
         {"x", "x/", "a/", "o", ".", "..", "../", "/", "/a", "d//", "out", ".dot/"}) {
        EXPECT_EQ(completed(served, none), names{}) << none;
    }
}

TEST(tree, completion_says_whether_there_is_more_and_ends_with_many_names) {
    const temporary_tree tmp;
    for (int i = 10; i < 40; ++i) {
        tmp.file(std::to_string(i));
    }
    const tree served = tmp.open();
    for (std::size_t most = 1; most < 35; ++most) {
        const auto takes = [](std::string_view path) { return path.ends_with('9'); };
        const auto got = served.complete("", most, takes);
        ASSERT_TRUE(got);
        EXPECT_EQ(got->paths.size(), std::min<std::size_t>(most, 3)) << most;
        EXPECT_EQ(got->more, most < 3) << most;
        for (const std::size_t names : {1UL, 20UL, 29UL, 30UL}) {
            const auto none = [](std::string_view) { return false; };
            const auto few = served.complete("", most, none, names);
            ASSERT_TRUE(few);
            EXPECT_TRUE(few->paths.empty());
            EXPECT_EQ(few->more, names < 30) << most << ' ' << names;
        }
    }
}

}  // namespace
}  // namespace pillion::files
