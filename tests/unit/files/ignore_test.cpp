// ignore: what the rules mean, case by case and against git itself.
#include "files/ignore.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "temporary_tree.hpp"

namespace pillion::files {
namespace {

struct wildcard_case {
    std::string_view pattern;
    std::string_view path;
    bool matches;
};

constexpr wildcard_case wildcard_cases[] = {
    {"a", "a", true},
    {"a", "b", false},
    {"a", "aa", false},
    {"", "", true},
    {"", "a", false},
    {"*", "", true},
    {"*", "abc", true},
    {"*", "a/b", false},
    {"a*c", "abbc", true},
    {"a*c", "ab/c", false},
    {"*.o", "x.o", true},
    {"*.o", "x.o.c", false},
    {"*a*b*c", "xaxbxcxaxc", true},
    {"?", "a", true},
    {"?", "/", false},
    {"?", "\xC3\xA9", false},
    {"a/*", "a/b", true},
    {"a/*", "a/b/c", false},
    {"*/b", "a/b", true},
    {"*/b", "x/a/b", false},
    {"**", "a/b/c", true},
    {"**/b", "b", true},
    {"**/b", "a/b", true},
    {"**/b", "x/a/b", true},
    {"**/b", "xb", false},
    {"a/**", "a/b/c", true},
    {"a/**", "a", false},
    {"a/**/b", "a/b", true},
    {"a/**/b", "a/x/y/b", true},
    {"a/**/b", "a/xb", false},
    {"a/**/b/**/c", "a/b/x/b/y/c", true},
    {"**/a*/x", "ab/ac/x", true},
    {"**/a*/x", "ab/y/ac/x", true},
    {"a**b", "axxb", true},
    {"a**b", "a/b", false},
    {"[abc]", "b", true},
    {"[a-c]x", "bx", true},
    {"[!a-c]", "b", false},
    {"[^a-c]", "d", true},
    {"[]]", "]", true},
    {"[!]]", "]", false},
    {"[a-]", "-", true},
    {"[\\]]", "]", true},
    {"[\\\\]", "\\", true},
    {"[[:digit:]x]", "7", true},
    {"[[:digit:]x]", "x", true},
    {"[[:upper:]]", "a", false},
    {"[!a]", "/", false},
    {"[abc", "a", false},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"a\\", "a", false},
    {"a\\", "a\\", false},
};

TEST(ignore, wildcards_match_as_the_table_says) {
    for (const wildcard_case& one : wildcard_cases) {
        EXPECT_EQ(wildcard_match(one.pattern, one.path), one.matches)
            << one.pattern << " on " << one.path;
    }
}

TEST(ignore, patterns_made_to_take_long_end) {
    std::string stars;
    std::string across;
    for (int i = 0; i < 200; ++i) {
        stars += "*a";
        across += "**/a*a/";
    }
    std::string path;
    while (path.size() < 4000) {
        path += "aaaaaaaaaaaaaaa/";
    }
    EXPECT_FALSE(wildcard_match(stars + "b", std::string(4000, 'a')));
    EXPECT_FALSE(wildcard_match(across + "b", path + "a"));
}

struct rule_case {
    std::string_view rules;
    std::string_view path;
    bool directory;
    ignore_file::verdict expected;
};

constexpr auto none = ignore_file::verdict::none;
constexpr auto out = ignore_file::verdict::leave_out;
constexpr auto keep = ignore_file::verdict::keep;

constexpr rule_case rule_cases[] = {
    {"", "a", false, none},
    {"\n\n", "a", false, none},
    {"# a\n", "# a", false, none},
    {"\\#a", "#a", false, out},
    {"!a", "a", false, keep},
    {"\\!a", "!a", false, out},
    {"a\n!a", "a", false, keep},
    {"!a\na", "a", false, out},
    {"a", "x/y/a", false, out},
    {"/a", "a", false, out},
    {"/a", "x/a", false, none},
    {"x/a", "x/a", false, out},
    {"x/a", "y/x/a", false, none},
    {"a/", "a", true, out},
    {"a/", "a", false, none},
    {"a/", "x/a", true, out},
    {"x/a/", "x/a", true, out},
    {"*.o\n!keep.o", "x/keep.o", false, keep},
    {"a   ", "a", false, out},
    {"a\\ ", "a ", false, out},
    {"a\\  ", "a ", false, out},
    {"a\r\n", "a", false, out},
    {"\xEF\xBB\xBF"
     "a",
     "a", false, out},
    {"/", "a", true, none},
    {"!", "a", false, none},
    {"**/a", "x/y/a", false, out},
    {"a/**", "a", true, none},
    {"a/**", "a/b", false, out},
};

TEST(ignore, rules_judge_as_the_table_says) {
    for (const rule_case& one : rule_cases) {
        EXPECT_EQ(ignore_file(one.rules).judge(one.path, one.directory), one.expected)
            << one.rules << " on " << one.path;
    }
}

TEST(ignore, what_is_beyond_the_bounds_has_no_effect) {
    const std::string long_rule(ignore_rule_bytes_max + 1, 'a');
    EXPECT_EQ(ignore_file(long_rule + "\nb").judge("b", false), out);
    EXPECT_EQ(ignore_file(long_rule).judge(long_rule, false), none);
    std::string many;
    for (std::size_t i = 0; i < ignore_rules_max; ++i) {
        many += "x\n";
    }
    EXPECT_EQ(ignore_file(many + "b").judge("b", false), none);
    EXPECT_EQ(ignore_file(many + "b").judge("x", false), out);
}

TEST(ignore, deeper_files_decide_first) {
    ignore_chain chain;
    chain.enter("", "*.o\n/a/b/x\n");
    EXPECT_TRUE(chain.leaves_out("m.o", false));
    chain.enter("a", "!m.o\n");
    EXPECT_FALSE(chain.leaves_out("a/m.o", false));
    EXPECT_TRUE(chain.leaves_out("a/n.o", false));
    chain.enter("a/b", "");
    EXPECT_TRUE(chain.leaves_out("a/b/x", false));
    EXPECT_FALSE(chain.leaves_out("a/b/m.o", false));
    chain.leave();
    chain.leave();
    EXPECT_TRUE(chain.leaves_out("m.o", false));
}

// All that is no directory; git knows a link to one as a link.
std::vector<std::string> walk_files(const tree& served) {
    std::vector<std::string> got;
    std::string after;
    for (bool more = true; more;) {
        const auto part = served.walk("", after, 7, true);
        if (!part) {
            ADD_FAILURE() << part.error().detail;
            break;
        }
        for (const entry& one : part->entries) {
            if (one.kind == entry_kind::file || one.linked) {
                got.push_back(one.path);
            }
        }
        more = part->more;
        after = part->next;
    }
    std::sort(got.begin(), got.end());
    return got;
}

// The files that git would add, by the rules of .gitignore files alone.
std::vector<std::string> git_files(const temporary_tree& tmp) {
    const std::string command = "git -C '" + tmp.at().string() +
                                "' -c core.excludesFile=/dev/null ls-files -o -z "
                                "--exclude-per-directory=.gitignore";
    std::vector<std::string> got;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    std::string text;
    char part[4096];
    while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) {
        text.append(part, size);
    }
    EXPECT_EQ(::pclose(pipe), 0);
    while (!text.empty()) {
        const std::size_t end = text.find('\0');
        std::string path = text.substr(0, end);
        text.erase(0, end + 1);
        if (path.find("/.") == path.npos && !path.starts_with('.')) {
            got.push_back(std::move(path));
        }
    }
    std::sort(got.begin(), got.end());
    return got;
}

bool has_git() { return std::system("git --version >/dev/null 2>&1") == 0; }

void make_repository(const temporary_tree& tmp) {
    const std::string command = "git init -q '" + tmp.at().string() + "' 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
    for (const char* path :
         {"a",           "b.o",          "keep.o",      "a b",          "#x",        "!y",
          "[z]",         "d/a",          "d/b.o",       "d/e/a",        "d/e/f/a",   "d/e/f/b.o",
          "ab/c",        "ab/d/c",       "build/out.o", "build/keep.o", "x/build/a", "x/d/e/a",
          "foo/bar/baz", "bar",          "d/bar/q",     "axb/c",        "x-1",       "x-2",
          "log/1.txt",   "log/sub/2.txt"}) {
        tmp.file(path);
    }
    tmp.link("to-d", "d");
}

constexpr std::string_view rule_sets[] = {
    "",
    "*\n!*/\n!*.o\n",
    "*\n!a\n",
    "build/\n",
    "/build\n",
    "build/*\n!build/keep.o\n",
    "build\n!build/keep.o\n",
    "d/e\n",
    "/d/**/a\n",
    "**/bar\n",
    "foo/**\n",
    "d/**/f/\n",
    "a*b/c\n",
    "\\#x\n\\!y\n\\[z]\na\\ b\n",
    "#x\n!y\n[z]\na b\n",
    "x-[0-1]\n",
    "x-[!1]\n",
    "*.o\n!keep.o\n",
    "to-d/\n",
    "to-d\n",
    "log/**/*.txt\n!log/sub/2.txt\n",
    "log/*.txt\n",
    "a \n",
    "**\n!bar\n",
    "/**/c\n",
    "*/a\n",
    "d/*/a\n",
    "/\n",
    "d\\/a\n",
    "e/\n!e/\n",
};

TEST(ignore, listings_are_those_of_git) {
    if (!has_git()) {
        GTEST_SKIP() << "git is not installed";
    }
    const temporary_tree tmp;
    make_repository(tmp);
    const tree served = tmp.open();
    for (const std::string_view rules : rule_sets) {
        tmp.file(".gitignore", rules);
        EXPECT_EQ(walk_files(served), git_files(tmp)) << rules;
        tmp.file("d/.gitignore", "!a\n/e/f\nb.o\n");
        EXPECT_EQ(walk_files(served), git_files(tmp)) << "nested, " << rules;
        std::filesystem::remove(tmp.at("d/.gitignore"));
    }
}

TEST(ignore, random_rules_give_what_git_gives) {
    if (!has_git()) {
        GTEST_SKIP() << "git is not installed";
    }
    const temporary_tree tmp;
    make_repository(tmp);
    const tree served = tmp.open();
    constexpr std::string_view parts[] = {"a",  "b",   "d",     "e",  "*",     "**",
                                          "/",  "/",   "/",     "?",  "[a-e]", "[!b]",
                                          ".o", "bar", "build", "x-", "f"};
    std::mt19937 random(20260728);
    const auto below = [&random](std::size_t bound) { return random() % bound; };
    for (int round = 0; round < 150; ++round) {
        std::string rules;
        for (std::size_t line = 0; line < 4; ++line) {
            rules += below(3) == 0 ? "!" : "";
            for (std::size_t i = 1 + below(4); i > 0; --i) {
                rules += parts[below(std::size(parts))];
            }
            rules += '\n';
        }
        tmp.file(round % 2 == 0 ? ".gitignore" : "d/.gitignore", rules);
        EXPECT_EQ(walk_files(served), git_files(tmp)) << rules;
    }
}

TEST(ignore, a_tree_lists_by_the_rules_but_reads_by_name) {
    const temporary_tree tmp;
    tmp.file(".gitignore", "out/\n*.log\n");
    tmp.file("out/x");
    tmp.file("a.log", "logged");
    tmp.file("b");
    const tree served = tmp.open();
    const auto listed = served.list("", "", 10);
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->entries.size(), 1U);
    EXPECT_EQ(listed->entries[0].path, "b");
    EXPECT_EQ(served.read("a.log", 0, 100)->bytes, "logged");
    EXPECT_EQ(served.list("out", "", 10)->entries.size(), 1U);
    EXPECT_TRUE(served.ignored("out/x", false));
    EXPECT_TRUE(served.ignored("out", true));
    EXPECT_FALSE(served.ignored("out", false));
    EXPECT_FALSE(served.ignored("b", false));
    options how;
    how.ignore = false;
    const auto all = tree::open(tmp.at().string(), how);
    ASSERT_TRUE(all);
    EXPECT_EQ(all->list("", "", 10)->entries.size(), 3U);
    EXPECT_FALSE(all->ignored("out/x", false));
}

TEST(ignore, a_file_of_rules_that_is_a_link_has_no_effect) {
    const temporary_tree tmp;
    tmp.file("rules", "b\n");
    tmp.file("b");
    tmp.link(".gitignore", "rules");
    EXPECT_FALSE(tmp.open().ignored("b", false));
}

}  // namespace
}  // namespace pillion::files
