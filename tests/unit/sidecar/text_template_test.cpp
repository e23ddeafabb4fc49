// text_template: places for arguments, and texts that are none.
#include "sidecar/text_template.hpp"

#include <string>

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::sidecar {
namespace {

std::string template_shown(const std::string& text) {
    text_template made;
    std::string fault;
    if (!text_template::parse(text, made, fault)) {
        return "fault: " + fault;
    }
    std::string all;
    for (const template_part& part : made.parts()) {
        all += part.argument ? "<" + part.text + ">" : part.text;
    }
    return all;
}

TEST(text_template, places_and_braces) {
    EXPECT_EQ(template_shown(""), "");
    EXPECT_EQ(template_shown("plain"), "plain");
    EXPECT_EQ(template_shown("{a}"), "<a>");
    EXPECT_EQ(template_shown("x{a}{b-c.d_1}y"), "x<a><b-c.d_1>y");
    EXPECT_EQ(template_shown("{{a}}"), "{a}");
    EXPECT_EQ(template_shown("{{{a}}}"), "{<a>}");
}

TEST(text_template, what_is_none) {
    for (const char* const text : {"{", "{a", "{}", "{a b}", "{ü}", "{a{b}}", "x{"}) {
        EXPECT_TRUE(template_shown(text).starts_with("fault: a {")) << text << template_shown(text);
    }
    for (const char* const text : {"}", "a}", "{a}}", "}{"}) {
        EXPECT_TRUE(template_shown(text).starts_with("fault: a }")) << text << template_shown(text);
    }
}

// Every beginning of a template is one, or refused; nothing else happens.
TEST(text_template, every_truncation) {
    const std::string whole = "/users/{id}/x{{y}}z{name}";
    std::size_t good = 0;
    for (std::size_t n = 0; n <= whole.size(); ++n) {
        good += template_shown(whole.substr(0, n)).starts_with("fault") ? 0 : 1;
    }
    EXPECT_EQ(good, 16U);
}

TEST(text_template, one_place_alone) {
    const auto alone = [](const char* text) {
        text_template made;
        std::string fault;
        text_template::parse(text, made, fault);
        return std::string(made.only_argument());
    };
    EXPECT_EQ(alone("{a}"), "a");
    EXPECT_EQ(alone("{a}x"), "");
    EXPECT_EQ(alone("{a}{b}"), "");
    EXPECT_EQ(alone("a"), "");
}

TEST(text_template, plain_texts_of_values) {
    const auto parsed = json::document::parse(R"(["x",1.50,true,null,{},[]])");
    const char* const texts[] = {"x", "1.50", "true", nullptr, nullptr, nullptr};
    std::size_t i = 0;
    for (const json::view value : parsed->root().elements()) {
        bool good = false;
        const std::string_view text = plain_text(value, good);
        EXPECT_EQ(good, texts[i] != nullptr) << i;
        EXPECT_EQ(text, texts[i] == nullptr ? "" : texts[i]) << i;
        ++i;
    }
}

}  // namespace
}  // namespace pillion::sidecar
