#include "sidecar/prompt_file.hpp"

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

#include "json/document.hpp"

namespace pillion::sidecar {
namespace {

prompt_file with_arguments(std::vector<std::string> names) {
    prompt_file out;
    for (std::string& name : names) {
        out.arguments.push_back({std::move(name), {}, false, {}});
    }
    return out;
}

// The messages, "user: …" or "assistant: …", with a set to 1 and b to {{a}}.
std::vector<std::string> rendered(std::string_view text) {
    prompt_file made = with_arguments({"a", "b", "c-d"});
    std::size_t line = 0;
    std::string fault;
    EXPECT_TRUE(parse_prompt_text(text, made, line, fault)) << fault;
    const auto given = json::document::parse(R"({"a":"1","b":"{{a}}"})");
    std::vector<std::string> out;
    for (const prompt_message& m : made.messages) {
        out.push_back((m.assistant ? "assistant: " : "user: ") +
                      prompt_text(made, m, given->root()));
    }
    return out;
}
using texts = std::vector<std::string>;

TEST(prompt_file, places) {
    EXPECT_EQ(rendered("x {{a}}, {{ b }}{{c-d}}."), (texts{"user: x 1, {{a}}."}));
    EXPECT_EQ(rendered("{{a}}\n{{a}}"), (texts{"user: 1\n1"}));
    EXPECT_EQ(rendered("\\{{a}} {a} }} {"), (texts{"user: {{a}} {a} }} {"}));
}

TEST(prompt_file, messages) {
    EXPECT_EQ(
        rendered("\n  \nfirst\r\n\r\nmore\r\n\n<!-- assistant -->\nsecond\n<!-- user -->\n\n"),
        (texts{"user: first\n\nmore", "assistant: second"}));
    EXPECT_EQ(rendered("<!-- assistant -->\n  a\n <!-- user --> \nb {{a}}\n"),
              (texts{"assistant:   a", "user: b 1"}));
    // A comment within a line is text.
    EXPECT_EQ(rendered("a <!-- user -->"), (texts{"user: a <!-- user -->"}));
}

TEST(prompt_file, faults_have_lines) {
    const auto fault_of = [](std::string_view text) {
        prompt_file made = with_arguments({"a"});
        std::size_t line = 0;
        std::string fault;
        EXPECT_FALSE(parse_prompt_text(text, made, line, fault)) << text;
        return std::to_string(line) + ": " + fault;
    };
    EXPECT_EQ(fault_of("a\nb {{x}}"), "2: {{x}} is none of the arguments; \\{{ is two braces");
    EXPECT_EQ(fault_of("<!-- user -->\n\n{{a"), "3: {{ without its }}; \\{{ is two braces");
    EXPECT_EQ(fault_of("{{a\n}}"), "1: {{ without its }}; \\{{ is two braces");
    EXPECT_EQ(fault_of("{{}}"), "1: {{}} is none of the arguments; \\{{ is two braces");
    EXPECT_EQ(fault_of(" \n<!-- user -->\n"), "1: the prompt has no text");
    std::string many;
    for (int i = 0; i < 70; ++i) {
        many += "<!-- user -->\na\n";
    }
    EXPECT_EQ(fault_of(many), "131: there are more than 64 messages");
}

TEST(prompt_file, every_truncation) {
    const std::string whole = "a {{a}} \\{{\n<!-- assistant -->\n{{b}}\n";
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        prompt_file made = with_arguments({"a", "b"});
        std::size_t line = 0;
        std::string fault;
        const bool good = parse_prompt_text(whole.substr(0, size), made, line, fault);
        EXPECT_EQ(good, fault.empty()) << size;
    }
}

prompt_file greeting() {
    prompt_file out;
    out.name = "greet";
    out.title = "Greet";
    out.description = "Greets somebody";
    out.arguments = {{"who", "A name", true, {"Ada", "Alan", "adele", "Bob"}},
                     {"how", {}, false, {}}};
    for (int i = 0; i < 150; ++i) {
        out.arguments[0].complete.push_back("many" + std::to_string(i));
    }
    std::size_t line = 0;
    std::string fault;
    EXPECT_TRUE(
        parse_prompt_text("Hello {{who}}{{how}}\n<!-- assistant -->\nHm", out, line, fault));
    return out;
}

TEST(prompt_file, as_a_prompt) {
    for (const char* const revision : {"2025-11-25", "2026-07-28"}) {
        server s("test", "1");
        add_prompt(s.prompt("greet"), greeting());
        pillion::testing::client c(s, pillion::testing::client_options().revision(revision));
        ASSERT_EQ(c.fault(), "");
        const pillion::testing::answer list = c.request("prompts/list");
        const json::view one = list.result()["prompts"][std::size_t{0}];
        EXPECT_EQ(one["title"].str(), "Greet");
        EXPECT_TRUE(one["arguments"][std::size_t{0}]["required"].boolean());
        EXPECT_FALSE(one["arguments"][std::size_t{1}]["required"].boolean());
        const pillion::testing::answer got = c.prompt("greet", R"({"who":"{{how}}","how":"!"})");
        const json::view messages = got.result()["messages"];
        ASSERT_EQ(messages.size(), 2U) << got.raw();
        EXPECT_EQ(messages[std::size_t{0}]["role"].str(), "user");
        EXPECT_EQ(messages[std::size_t{0}]["content"]["text"].str(), "Hello {{how}}!");
        EXPECT_EQ(messages[std::size_t{1}]["role"].str(), "assistant");
        EXPECT_EQ(c.prompt("greet", R"({"who":"Ada"})").text(), "Hello Ada");
        EXPECT_NE(c.prompt("greet").error_code(), 0);
    }
}

TEST(prompt_file, completion_by_what_was_typed) {
    server s("test", "1");
    add_prompt(s.prompt("greet"), greeting());
    pillion::testing::client c(s);
    const auto complete = [&c](std::string_view typed) {
        return c.request("completion/complete",
                         R"({"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who",)"
                         R"("value":")" +
                             std::string(typed) + "\"}}");
    };
    const pillion::testing::answer some = complete("ad");
    const json::view values = some.result()["completion"]["values"];
    ASSERT_EQ(values.size(), 2U) << some.raw();
    EXPECT_EQ(values[std::size_t{0}].str(), "Ada");
    EXPECT_EQ(values[std::size_t{1}].str(), "adele");
    const pillion::testing::answer many = complete("many");
    EXPECT_EQ(many.result()["completion"]["values"].size(), 100U);
    EXPECT_EQ(many.result()["completion"]["total"].i64(), 150);
    EXPECT_TRUE(many.result()["completion"]["hasMore"].boolean());
    EXPECT_EQ(complete("x").result()["completion"]["values"].size(), 0U);
}

}  // namespace
}  // namespace pillion::sidecar
