#include "mcp/uri_template.hpp"

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

class uri_template_test : public ::testing::Test {
 protected:
    // "name=value;name=value", or "no" when it does not match, or "bad" for a bad template.
    std::string match(std::string_view pattern, std::string_view uri) {
        std::string fault;
        const auto t = uri_template::parse(pattern, fault);
        if (!t) {
            return "bad";
        }
        template_value values[uri_template::variables_max];
        const auto count = t->match(uri, memory, values);
        if (!count) {
            return "no";
        }
        std::string text;
        for (std::size_t i = 0; i < *count; ++i) {
            text.append(values[i].name).append("=").append(values[i].value).append(";");
        }
        return text;
    }

    base::chunk_pool pool;
    base::arena memory{pool};
};

TEST_F(uri_template_test, simple_variables_match_one_segment) {
    EXPECT_EQ(match("test://t/{id}/data", "test://t/123/data"), "id=123;");
    EXPECT_EQ(match("test://t/{id}/data", "test://t/1/2/data"), "no");
    EXPECT_EQ(match("test://t/{id}/data", "test://t//data"), "no");
    EXPECT_EQ(match("test://t/{id}/data", "test://t/1/date"), "no");
    EXPECT_EQ(match("test://t/{id}/data", "test://t/1/data2"), "no");
    EXPECT_EQ(match("a://{x}-{y}", "a://1-2-3"), "x=1;y=2-3;");
}

TEST_F(uri_template_test, reserved_variables_take_slashes) {
    EXPECT_EQ(match("f://{+path}", "f://a/b/c.txt"), "path=a/b/c.txt;");
    EXPECT_EQ(match("f://{+path}/end", "f://a/end/b/end"), "path=a/end/b;");
}

TEST_F(uri_template_test, values_are_percent_decoded_once) {
    EXPECT_EQ(match("f://{n}", "f://a%20b%2Fc"), "n=a b/c;");
    EXPECT_EQ(match("f://{n}", "f://%2541"), "n=%41;");
    EXPECT_EQ(match("f://{n}", "f://%4"), "no");
    EXPECT_EQ(match("f://{n}", "f://%zz"), "no");
    EXPECT_EQ(match("f://{n}", "f://%ff"), "no");  // not UTF-8
}

TEST_F(uri_template_test, a_template_without_variables_matches_itself) {
    EXPECT_EQ(match("f://x", "f://x"), "");
    EXPECT_EQ(match("f://x", "f://xy"), "no");
}

TEST_F(uri_template_test, malformed_templates_are_refused) {
    for (const char* bad : {"f://{", "f://}", "f://{}", "f://{a}{b}", "f://{?q}", "f://{a b}",
                            "f://{/x}", "f://{a}}"}) {
        EXPECT_EQ(match(bad, "f://x"), "bad") << bad;
    }
}

}  // namespace
}  // namespace pillion::mcp
