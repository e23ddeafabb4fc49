#include "sidecar/tool_names.hpp"

#include <gtest/gtest.h>

#include "sidecar/report_text.hpp"

namespace pillion::sidecar {
namespace {

TEST(tool_names, what_fits) {
    EXPECT_EQ(fit_name("repos/list-for-org"), "repos_list-for-org");
    EXPECT_EQ(fit_name("  a  b "), "a_b");
    EXPECT_EQ(fit_name("filter[name]"), "filter_name");
    EXPECT_EQ(fit_name("a_[b]_c"), "a_b_c");
    EXPECT_EQ(fit_name("\xC3\xA4"), "");
    EXPECT_EQ(fit_name("__x"), "__x");
    EXPECT_EQ(name_of_route("GET", "/users/{id}/keys"), "get_users_id_keys");
    EXPECT_EQ(name_of_route("DELETE", "/"), "delete");
}

TEST(tool_names, long_ones_stay_apart) {
    const std::string one = fit_name(std::string(200, 'a') + "1");
    const std::string two = fit_name(std::string(200, 'a') + "2");
    EXPECT_EQ(one.size(), tool_name_max);
    EXPECT_NE(one, two);
    EXPECT_EQ(one, fit_name(std::string(200, 'a') + "1"));
    EXPECT_TRUE(is_tool_name(one));
    EXPECT_FALSE(is_tool_name(one + "a"));
    EXPECT_FALSE(is_tool_name(""));
    EXPECT_FALSE(is_tool_name("a/b"));
}

TEST(tool_names, what_is_taken) {
    name_set names;
    EXPECT_EQ(names.take_like("id", "query"), "id");
    EXPECT_EQ(names.take_like("id", "query"), "id_query");
    EXPECT_EQ(names.take_like("id", "query"), "id_query_2");
    EXPECT_FALSE(names.take("id_query"));
}

TEST(report_text, lines_and_cuts) {
    EXPECT_EQ(one_line("  a\r\n\tb\x7F ", 80), "a b");
    EXPECT_EQ(cut_text("abcdef", 6), "abcdef");
    EXPECT_EQ(cut_text("abcdefg", 6), "abc\xE2\x80\xA6");
    // Never within a character.
    EXPECT_EQ(cut_text("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 6), "\xC3\xA4\xE2\x80\xA6");
    EXPECT_EQ(cut_text("abcdefg", 1), "\xE2\x80\xA6");
}

}  // namespace
}  // namespace pillion::sidecar
