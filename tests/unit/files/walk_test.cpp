// walk: every entry once and in order, from every place it can begin at.
#include <algorithm>

#include <gtest/gtest.h>

#include "files/path.hpp"
#include "temporary_tree.hpp"

namespace pillion::files {
namespace {

// All pages of a walk, `size` entries each.
std::vector<std::string> walk_all(const tree& served, std::string_view base, std::string after,
                                  std::size_t size, bool directories) {
    std::vector<std::string> got;
    for (bool more = true; more;) {
        auto part = served.walk(base, after, size, directories);
        EXPECT_TRUE(part);
        if (!part) {
            break;
        }
        EXPECT_LE(part->entries.size(), size);
        for (const entry& one : part->entries) {
            got.push_back(one.path);
        }
        more = part->more;
        after = part->next;
    }
    return got;
}

void fill(const temporary_tree& tmp) {
    for (const char* path :
         {"a/b/c", "a/b/d", "a/e", "a.txt", "a0/x", "b/.h/x", "b/z", "z", ".dot"}) {
        tmp.file(path);
    }
    tmp.directory("empty/inner");
    tmp.link("b/loop", "..");
    tmp.link("b/file", "../z");
    tmp.link("out", "/etc");
    tmp.fifo("a/fifo");
}

const std::vector<std::string> everything = {"a",      "a/b", "a/b/c", "a/b/d",       "a/e",
                                             "a.txt",  "a0",  "a0/x",  "b",           "b/file",
                                             "b/loop", "b/z", "empty", "empty/inner", "z"};

TEST(walk, gives_every_entry_in_order_at_every_page_size) {
    const temporary_tree tmp;
    fill(tmp);
    const tree served = tmp.open();
    std::vector<std::string> only_files;
    for (const std::string& path : everything) {
        if (served.stat(path)->kind == entry_kind::file) {
            only_files.push_back(path);
        }
    }
    for (std::size_t size = 1; size <= everything.size() + 1; ++size) {
        EXPECT_EQ(walk_all(served, "", "", size, true), everything) << size;
        EXPECT_EQ(walk_all(served, "", "", size, false), only_files) << size;
    }
    EXPECT_TRUE(
        std::is_sorted(everything.begin(), everything.end(),
                       [](const auto& a, const auto& b) { return compare_paths(a, b) < 0; }));
}

TEST(walk, says_exactly_whether_there_is_more) {
    const temporary_tree tmp;
    fill(tmp);
    const tree served = tmp.open();
    EXPECT_FALSE(served.walk("", "", everything.size(), true)->more);
    EXPECT_TRUE(served.walk("", "", everything.size() - 1, true)->more);
}

TEST(walk, begins_behind_any_path_whether_it_exists_or_not) {
    const temporary_tree tmp;
    fill(tmp);
    const tree served = tmp.open();
    std::vector<std::string> places = everything;
    for (const char* gone : {"0", "a/a", "a/b/c/x", "a/b/cc", "a/zz/zz", "b/loop/a", "b/.h/x", "c",
                             "empty/inner/x", "zz", "z/y", ".dot"}) {
        places.emplace_back(gone);
    }
    for (const std::string& after : places) {
        std::vector<std::string> expected;
        std::copy_if(everything.begin(), everything.end(), std::back_inserter(expected),
                     [&](const std::string& path) { return compare_paths(path, after) > 0; });
        EXPECT_EQ(walk_all(served, "", after, 3, true), expected) << after;
    }
}

TEST(walk, stays_below_its_base) {
    const temporary_tree tmp;
    fill(tmp);
    const tree served = tmp.open();
    EXPECT_EQ(walk_all(served, "a", "", 2, true),
              (std::vector<std::string>{"a/b", "a/b/c", "a/b/d", "a/e"}));
    EXPECT_EQ(walk_all(served, "a", "a/b/c", 2, true), (std::vector<std::string>{"a/b/d", "a/e"}));
    EXPECT_EQ(walk_all(served, "a", "a", 9, false).size(), 3U);
    EXPECT_FALSE(served.walk("a", "b", 9, true));
    EXPECT_FALSE(served.walk("a", "a.txt", 9, true));
    EXPECT_FALSE(served.walk("none", "", 9, true));
    EXPECT_FALSE(served.walk("z", "", 9, true));
    EXPECT_FALSE(served.walk("b/.h", "", 9, true));
}

TEST(walk, ends_though_links_form_a_circle) {
    const temporary_tree tmp;
    tmp.link("d/self", ".");
    tmp.link("d/up", "..");
    tmp.file("d/f");
    const tree served = tmp.open();
    EXPECT_EQ(walk_all(served, "", "", 2, true),
              (std::vector<std::string>{"d", "d/f", "d/self", "d/up"}));
    EXPECT_EQ(walk_all(served, "d/self", "", 9, true),
              (std::vector<std::string>{"d/self/f", "d/self/self", "d/self/up"}));
}

TEST(walk, goes_on_when_directories_vanish_between_pages) {
    const temporary_tree tmp;
    fill(tmp);
    const tree served = tmp.open();
    auto first = served.walk("", "", 3, true);
    ASSERT_EQ(first->next, "a/b/c");
    std::filesystem::remove_all(tmp.at("a"));
    EXPECT_EQ(served.walk("", first->next, 1, true)->entries[0].path, "a.txt");
}

TEST(walk, enters_no_more_than_so_many_levels) {
    const temporary_tree tmp;
    std::string path = "0";
    for (std::size_t i = 1; i < walk_depth_max + 5; ++i) {
        path += "/0";
    }
    tmp.directory(path);
    EXPECT_EQ(walk_all(tmp.open(), "", "", 7, true).size(), walk_depth_max + 1);
}

TEST(walk, a_large_directory_is_walked_in_portions) {
    const temporary_tree tmp;
    for (int i = 0; i < 5000; ++i) {
        tmp.file("d/" + std::to_string(i), "");
    }
    tmp.file("e");
    const tree served = tmp.open();
    const auto got = walk_all(served, "", "", page_entries_max, false);
    EXPECT_EQ(got.size(), 5001U);
    EXPECT_EQ(got.back(), "e");
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end() - 1));
}

// The budget of names makes pages short; nothing is lost or given twice.
TEST(walk, returns_in_between_when_there_is_much_to_look_at) {
    const temporary_tree tmp;
    for (int i = 0; i < 15; ++i) {
        for (int j = 0; j < 15; ++j) {
            tmp.directory("d" + std::to_string(i) + "/" + std::to_string(j));
        }
    }
    tmp.file("z/last");
    const tree served = tmp.open();
    for (const std::size_t names_max : {0U, 1U, 20U, 40U, 100U, 300U}) {
        std::string after;
        std::vector<std::string> got;
        int pages = 0;
        for (bool more = true; more; ++pages) {
            auto part = served.walk("", after, 10, false, names_max);
            ASSERT_TRUE(part);
            for (const entry& one : part->entries) {
                got.push_back(one.path);
            }
            more = part->more;
            ASSERT_TRUE(!more || part->next > after);
            after = part->next;
        }
        EXPECT_GT(pages, 1);
        EXPECT_EQ(got, std::vector<std::string>{"z/last"});
    }
}

}  // namespace
}  // namespace pillion::files
