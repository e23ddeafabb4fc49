// command_line: words from arguments, and what may not become one.
#include "sidecar/command_line.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::sidecar {
namespace {

// The words with blanks between them, or the fault.
std::string words(std::vector<std::string> argv, const char* arguments,
                  std::vector<std::string> dashes = {}) {
    command_spec spec;
    spec.argv = std::move(argv);
    spec.dashes = std::move(dashes);
    command_line line;
    std::string fault;
    if (!command_line::parse(spec, line, fault)) {
        return "refused: " + fault;
    }
    const auto parsed = json::document::parse(arguments);
    std::vector<std::string> made;
    if (!line.render(parsed->root(), made, fault)) {
        return "fault: " + fault;
    }
    std::string all;
    for (const std::string& one : made) {
        all += (all.empty() ? "[" : " [") + one + "]";
    }
    return all;
}

TEST(command_line, places_vanish_and_multiply) {
    const std::vector<std::string> argv = {"p", "-a", "{a}", "x{b}y", "{c}"};
    EXPECT_EQ(words(argv, R"({"a":1,"b":"","c":["l m",true]})"), "[p] [-a] [1] [xy] [l m] [true]");
    EXPECT_EQ(words(argv, R"({"b":"z","c":[]})"), "[p] [-a] [xzy]");
    EXPECT_EQ(words(argv, R"({"a":null,"b":"z"})"), "[p] [-a] [xzy]");
    EXPECT_EQ(words(argv, "{}"), "fault: The argument b is missing");
}

TEST(command_line, a_dash_at_the_front_is_refused_unless_it_may_be_there) {
    EXPECT_EQ(words({"p", "{a}"}, R"({"a":"-x"})"), "fault: The argument a must not begin with -");
    EXPECT_EQ(words({"p", "{a}"}, R"({"a":-1})"), "fault: The argument a must not begin with -");
    EXPECT_EQ(words({"p", "{a}.txt"}, R"({"a":"-x"})"),
              "fault: The argument a must not begin with -");
    EXPECT_EQ(words({"p", "{a}{b}"}, R"({"a":"","b":"-x"})"),
              "fault: The argument b must not begin with -");
    EXPECT_EQ(words({"p", "{a}"}, R"({"a":["x","--"]})"),
              "fault: The argument a must not begin with -");
    EXPECT_EQ(words({"p", "--n={a}"}, R"({"a":"-x"})"), "[p] [--n=-x]");
    EXPECT_EQ(words({"p", "{a}"}, R"({"a":"-x"})", {"a"}), "[p] [-x]");
}

TEST(command_line, values_that_are_no_words) {
    EXPECT_EQ(words({"p", "{a}"}, R"({"a":{}})"),
              "fault: The argument a must be a text, a number or a boolean");
    EXPECT_EQ(words({"p", "x{a}"}, R"({"a":[1]})"),
              "fault: The argument a must be a text, a number or a boolean");
    EXPECT_EQ(words({"p", "{a}"}, "{\"a\":\"x\\u0000y\"}"),
              "fault: The argument a must not hold a NUL");
    const std::string large = "{\"a\":\"" + std::string(command_line::bytes_max, 'x') + "\"}";
    EXPECT_EQ(words({"p", "{a}"}, large.c_str()), "fault: The arguments are too long");
}

TEST(command_line, commands_that_are_none) {
    EXPECT_EQ(words({}, "{}"), "refused: command: needs argv");
    EXPECT_TRUE(words({"{p}"}, "{}").find("which program") != std::string::npos);
    for (const char* const shell : {"sh", "/bin/bash", "zsh"}) {
        EXPECT_TRUE(words({shell, "-c", "ls {a}"}, "{}").starts_with("refused: ")) << shell;
        EXPECT_TRUE(words({shell, "-ec", "{a}"}, "{}").starts_with("refused: ")) << shell;
        EXPECT_EQ(words({shell, "-c", "ls $1", "sh", "{a}"}, R"({"a":";id"})").back(), ']');
    }
    EXPECT_EQ(words({"grep", "-c", "{a}"}, R"({"a":"x"})"), "[grep] [-c] [x]");
}

}  // namespace
}  // namespace pillion::sidecar
