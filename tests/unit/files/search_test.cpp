// search: which lines are found, what is passed over, and that every bound is kept.
#include "files/search.hpp"

#include <gtest/gtest.h>

#include "temporary_tree.hpp"

namespace pillion::files {
namespace {

struct outcome {
    std::vector<search_match> matches;
    bool full = false;
    std::uint64_t searched = 0;
    std::uint64_t skipped = 0;
    std::string fault;

    // "path:line:column:text" of all matches, a line each.
    std::string text() const {
        std::string out;
        for (const search_match& one : matches) {
            out += one.path + ':' + std::to_string(one.line) + ':' + std::to_string(one.column) +
                   ':' + one.text + '\n';
        }
        return out;
    }
};

outcome run(const tree& where, const search_request& what, std::string_view path = {}) {
    outcome out;
    const auto job = search::make(where, what, out.fault);
    if (job == nullptr) {
        return out;
    }
    const auto started = job->start(path);
    if (!started) {
        out.fault = started.error().detail;
        return out;
    }
    while (job->step()) {
    }
    out.matches = job->matches();
    out.full = job->full();
    out.searched = job->files_searched();
    out.skipped = job->files_skipped();
    return out;
}

search_request literal(std::string_view pattern) {
    search_request what;
    what.pattern = pattern;
    return what;
}

search_request regex(std::string_view pattern) {
    search_request what = literal(pattern);
    what.regex = true;
    return what;
}

TEST(search, finds_lines_with_their_places) {
    const temporary_tree tmp;
    tmp.file("a", "one\ntwo three\r\nthree\n");
    tmp.file("b/c", "\xC3\xA9\xE2\x82\xAC three three");
    tmp.file("d", "four\n");
    const outcome got = run(tmp.open(), literal("three"));
    EXPECT_EQ(got.text(),
              "a:2:5:two three\na:3:1:three\nb/c:1:4:\xC3\xA9\xE2\x82\xAC three three\n");
    EXPECT_EQ(got.searched, 3U);
    EXPECT_FALSE(got.full);
}

TEST(search, a_literal_is_no_expression) {
    const temporary_tree tmp;
    tmp.file("a", "a.c\nabc\na\\.c (x\n");
    EXPECT_EQ(run(tmp.open(), literal("a.c")).text(), "a:1:1:a.c\n");
    EXPECT_EQ(run(tmp.open(), regex("a.c")).text(), "a:1:1:a.c\na:2:1:abc\n");
    EXPECT_EQ(run(tmp.open(), literal("(x")).matches.size(), 1U);
    EXPECT_EQ(run(tmp.open(), literal("\\.c")).text(), "a:3:2:a\\.c (x\n");
}

TEST(search, case_counts_unless_told_otherwise) {
    const temporary_tree tmp;
    tmp.file("a", "ABC\nabc\n\xC3\x89\n");
    search_request what = literal("abc");
    EXPECT_EQ(run(tmp.open(), what).matches.size(), 1U);
    what.ignore_case = true;
    EXPECT_EQ(run(tmp.open(), what).matches.size(), 2U);
    what.pattern = "\xC3\xA9";
    EXPECT_EQ(run(tmp.open(), what).matches.size(), 1U);
}

TEST(search, lines_are_matched_one_by_one) {
    const temporary_tree tmp;
    tmp.file("a", "x\ny\n\nend");
    for (const std::string_view none : {"x\\sy", "x\\ny", "x[^z]y", "(?s)x.y", "\\Ay"}) {
        EXPECT_EQ(run(tmp.open(), regex(none)).text(), "") << none;
    }
    EXPECT_EQ(run(tmp.open(), regex("^y$")).text(), "a:2:1:y\n");
    EXPECT_EQ(run(tmp.open(), regex("^$")).text(), "a:3:1:\n");
    EXPECT_EQ(run(tmp.open(), regex("d$")).text(), "a:4:3:end\n");
    EXPECT_EQ(run(tmp.open(), regex("q*")).matches.size(), 4U);
    EXPECT_EQ(run(tmp.open(), regex("[\\s\\S]*")).matches.size(), 4U);
    EXPECT_EQ(run(tmp.open(), regex("x\\s*")).text(), "a:1:1:x\n");
}

// The \r in front of the \n was taken for a character of the line: `$` never matched.
TEST(search, a_carriage_return_before_the_newline_is_no_part_of_the_line) {
    const temporary_tree tmp;
    tmp.file("a", "int a;\r\nint b;\n\r\nint\rc = 1\r\nlast\r");
    EXPECT_EQ(run(tmp.open(), regex(";$")).text(), "a:1:6:int a;\na:2:6:int b;\n");
    EXPECT_EQ(run(tmp.open(), regex("^$")).text(), "a:3:1:\n");
    EXPECT_EQ(run(tmp.open(), regex("1$")).text(), "a:4:9:int\rc = 1\n");
    EXPECT_EQ(run(tmp.open(), regex("last$")).text(), "a:5:1:last\n");
    EXPECT_EQ(run(tmp.open(), regex("int .;.")).text(), "");
    EXPECT_EQ(run(tmp.open(), regex("t\\sc")).text(), "a:4:3:int\rc = 1\n");
    EXPECT_EQ(run(tmp.open(), literal(";")).matches.size(), 2U);
}

TEST(search, a_carriage_return_at_every_place_around_the_end_of_a_chunk) {
    const temporary_tree tmp;
    const tree served = tmp.open();
    constexpr std::size_t chunk = 256 * 1024;
    for (std::size_t before = chunk - 8; before < chunk + 2; ++before) {
        std::string text(before, 'x');
        text[before - 100] = '\n';
        tmp.file("a", text + "end\r\nafter\r\n");
        const outcome got = run(served, regex("end$|^$"));
        ASSERT_EQ(got.matches.size(), 1U) << before;
        EXPECT_EQ(got.matches[0].line, 2U) << before;
    }
}

TEST(search, matches_at_every_place_around_the_end_of_a_chunk) {
    const temporary_tree tmp;
    const tree served = tmp.open();
    constexpr std::size_t chunk = 256 * 1024;
    for (std::size_t before = chunk - 12; before < chunk + 3; ++before) {
        std::string text(before, 'x');
        for (std::size_t i = 99; i < text.size(); i += 100) {
            text[i] = '\n';
        }
        const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
        tmp.file("a", text + "needle here\nafter\n");
        const outcome got = run(served, literal("needle"));
        ASSERT_EQ(got.matches.size(), 1U) << before;
        EXPECT_EQ(got.matches[0].line, lines + 1) << before;
        EXPECT_EQ(got.matches[0].column, before % 100 + 1) << before;
    }
}

TEST(search, a_line_longer_than_a_chunk_keeps_its_number_and_columns) {
    const temporary_tree tmp;
    tmp.file("a", std::string(700'000, 'x') + "needle" + std::string(700'000, 'y') + "\nneedle\n");
    const outcome got = run(tmp.open(), literal("needle"));
    ASSERT_EQ(got.matches.size(), 2U);
    EXPECT_EQ(got.matches[0].line, 1U);
    EXPECT_EQ(got.matches[0].column, 700'001U);
    EXPECT_LE(got.matches[0].text.size(), search_line_bytes_max);
    EXPECT_NE(got.matches[0].text.find("xneedley"), std::string::npos);
    EXPECT_EQ(got.matches[1].line, 2U);
    EXPECT_EQ(got.matches[1].column, 1U);
}

TEST(search, long_lines_are_cut_between_characters) {
    const temporary_tree tmp;
    std::string line;
    for (int i = 0; i < 1000; ++i) {
        line += "\xE2\x82\xAC";
    }
    for (int shift = 0; shift < 4; ++shift) {
        tmp.file("a", std::string(static_cast<std::size_t>(shift), 'x') + line + "needle" + line);
        const outcome got = run(tmp.open(), literal("needle"));
        ASSERT_EQ(got.matches.size(), 1U);
        const std::string& text = got.matches[0].text;
        EXPECT_LE(text.size(), search_line_bytes_max + 3);
        EXPECT_TRUE(text.starts_with("\xE2\x82\xAC"));
        EXPECT_TRUE(text.ends_with("\xE2\x82\xAC"));
        EXPECT_NE(text.find("needle"), text.npos);
    }
}

TEST(search, context_is_what_stands_around) {
    const temporary_tree tmp;
    tmp.file("a", "1\n2\n\nhit\n4\r\n5\n6\n");
    tmp.file("b", "hit");
    search_request what = literal("hit");
    what.context_lines = 2;
    const outcome got = run(tmp.open(), what);
    ASSERT_EQ(got.matches.size(), 2U);
    EXPECT_EQ(got.matches[0].before, (std::vector<std::string>{"2", ""}));
    EXPECT_EQ(got.matches[0].after, (std::vector<std::string>{"4", "5"}));
    EXPECT_TRUE(got.matches[1].before.empty());
    EXPECT_TRUE(got.matches[1].after.empty());
}

TEST(search, binary_ignored_hidden_and_large_files_are_passed_over) {
    const temporary_tree tmp;
    tmp.file("binary", std::string_view("hit\0hit", 7));
    tmp.file("latin1", "hit \xE9\n");
    tmp.file(".gitignore", "out\n");
    tmp.file("out", "hit");
    tmp.file(".hidden", "hit");
    tmp.file("large", "hit");
    std::filesystem::resize_file(tmp.at("large"), search_file_bytes_max + 1);
    tmp.file("text", "hit");
    const outcome got = run(tmp.open(), literal("hit"));
    EXPECT_EQ(got.text(), "text:1:1:hit\n");
    EXPECT_EQ(got.searched, 1U);
    EXPECT_EQ(got.skipped, 1U);
    EXPECT_EQ(run(tmp.open(), literal("hit"), "out").matches.size(), 1U);
}

TEST(search, stays_below_the_path) {
    const temporary_tree tmp;
    tmp.file("a/x", "hit");
    tmp.file("ab/x", "hit");
    tmp.file("b", "hit");
    EXPECT_EQ(run(tmp.open(), literal("hit"), "a").text(), "a/x:1:1:hit\n");
    EXPECT_EQ(run(tmp.open(), literal("hit"), "b").text(), "b:1:1:hit\n");
    EXPECT_NE(run(tmp.open(), literal("hit"), "none").fault, "");
    EXPECT_NE(run(tmp.open(), literal("hit"), "..").fault, "");
}

TEST(search, results_are_bounded_and_say_so) {
    const temporary_tree tmp;
    std::string text;
    for (int i = 0; i < 50; ++i) {
        text += "hit\n";
    }
    tmp.file("a", text);
    search_request what = literal("hit");
    what.matches_max = 50;
    EXPECT_FALSE(run(tmp.open(), what).full);
    what.matches_max = 49;
    const outcome got = run(tmp.open(), what);
    EXPECT_EQ(got.matches.size(), 49U);
    EXPECT_TRUE(got.full);
    text.clear();
    for (int i = 0; i < 1000; ++i) {
        text += std::string(990, 'x') + "hit\n";
    }
    tmp.file("a", text);
    what.matches_max = 1000;
    EXPECT_TRUE(run(tmp.open(), what).full);
    EXPECT_LT(run(tmp.open(), what).matches.size(), 600U);
}

TEST(search, patterns_that_are_no_good_say_why) {
    const temporary_tree tmp;
    const tree served = tmp.open();
    for (const std::string_view bad : {"(", "a{1001}", "(?=x)", "\\1", "[z-a]", "*"}) {
        EXPECT_NE(run(served, regex(bad)).fault, "") << bad;
    }
    EXPECT_NE(run(served, regex("(\\pL{100}){9}")).fault, "");
    EXPECT_NE(run(served, literal("")).fault, "");
    EXPECT_NE(run(served, literal("a\nb")).fault, "");
    EXPECT_NE(run(served, literal(std::string(1001, 'a'))).fault, "");
}

TEST(search, patterns_made_to_take_long_end) {
    const temporary_tree tmp;
    tmp.file("a", std::string(300'000, 'a') + "\n");
    tmp.file("b", std::string(100'000, '\n'));
    EXPECT_EQ(run(tmp.open(), regex("(a*)*b")).matches.size(), 0U);
    EXPECT_EQ(run(tmp.open(), regex("(a?){30}a{30}b")).matches.size(), 0U);
    EXPECT_EQ(run(tmp.open(), regex("[\\s\\S]*b")).matches.size(), 0U);
}

TEST(search, a_file_that_vanishes_is_skipped) {
    const temporary_tree tmp;
    tmp.file("a", "hit");
    const tree served = tmp.open();
    std::string fault;
    const auto job = search::make(served, literal("hit"), fault);
    ASSERT_TRUE(job->start("a"));
    std::filesystem::remove(tmp.at("a"));
    while (job->step()) {
    }
    EXPECT_EQ(job->files_skipped(), 1U);
    EXPECT_TRUE(job->matches().empty());
}

}  // namespace
}  // namespace pillion::files
