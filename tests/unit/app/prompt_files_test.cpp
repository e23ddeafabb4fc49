#include "app/prompt_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

namespace pillion::app {
namespace {

constexpr std::string_view whole =
    "---\n"
    "name: review\n"
    "title: Review\n"
    "description: Finds what is wrong\n"
    "arguments:\n"
    "  - {name: language, description: What it is in, required: true, complete: [C++, Python]}\n"
    "  - name: depth\n"
    "---\n"
    "\n"
    "Review this {{language}} change.{{depth}}\n";

std::string faults_of(std::string_view text, std::string_view name = "file") {
    sidecar::prompt_file made;
    config_faults faults;
    const bool good = read_prompt_file(name, text, made, faults);
    EXPECT_EQ(good, faults.empty());
    std::string out;
    sort_by_place(faults);
    for (const config_fault& f : faults) {
        out += describe(f, "f") + "\n";
    }
    return out;
}

TEST(prompt_files, a_head_and_a_text) {
    sidecar::prompt_file made;
    config_faults faults;
    ASSERT_TRUE(read_prompt_file("file", whole, made, faults)) << faults_of(whole);
    EXPECT_EQ(made.name, "review");
    EXPECT_EQ(made.title, "Review");
    EXPECT_EQ(made.description, "Finds what is wrong");
    ASSERT_EQ(made.arguments.size(), 2U);
    EXPECT_EQ(made.arguments[0].name, "language");
    EXPECT_TRUE(made.arguments[0].required);
    EXPECT_EQ(made.arguments[0].complete, (std::vector<std::string>{"C++", "Python"}));
    EXPECT_FALSE(made.arguments[1].required);
    EXPECT_EQ(made.messages.size(), 1U);
}

TEST(prompt_files, a_text_alone) {
    sidecar::prompt_file made;
    config_faults faults;
    EXPECT_TRUE(read_prompt_file("daily-report", "\xEF\xBB\xBFHello\n---\nthere", made, faults));
    EXPECT_EQ(made.name, "daily-report");
    EXPECT_EQ(made.messages[0].parts[0].text, "Hello\n---\nthere");
    EXPECT_EQ(faults_of("---\n---\nx"), "");
    EXPECT_EQ(faults_of("---\r\ntitle: t\r\n--- \r\nx\r\n"), "");
    EXPECT_EQ(faults_of("---\ntitle: t\n...\nx"), "");
}

TEST(prompt_files, faults_know_their_place) {
    EXPECT_EQ(faults_of("---\ntitle: t\nnme: x\n---\nx"),
              "f:3:1: unknown key \"nme\"; there are name, title, description and arguments\n");
    EXPECT_EQ(faults_of("---\nname: a b\narguments:\n  - required: 1\n---\nx"),
              "f:2:7: name: must be 1 to 128 of a-z, A-Z, 0-9, _, . and -\n"
              "f:4:5: arguments: one has no name\n"
              "f:4:15: arguments: required: must be true or false\n");
    EXPECT_EQ(faults_of("---\ntitle: t\n---\n\nHi {{you}}"),
              "f:5:1: {{you}} is none of the arguments; \\{{ is two braces\n");
    EXPECT_EQ(faults_of("Hi\n{{you}}").rfind("f:2:1: ", 0), 0U);
    EXPECT_EQ(faults_of("---\ntitle: [\n---\nx").rfind("f:", 0), 0U);
    EXPECT_EQ(faults_of("---\ntitle: t"),
              "f:1:1: the head, which begins with ---, does not end with one\n");
    EXPECT_EQ(faults_of("---\na\n---\nx"), "f:2:1: the head must be keys and their values\n");
    EXPECT_EQ(faults_of("---\narguments: [{name: a}, {name: a}]\n---\nx"),
              "f:2:24: arguments: two are called \"a\"\n");
}

TEST(prompt_files, what_is_none) {
    for (const std::string text :
         {"---\narguments: x\n---\nx", "---\narguments: [x]\n---\nx", "---\ntitle: [x]\n---\nx",
          "---\narguments: [{name: a, x: 1}]\n---\nx", "---\ntitle: a\ntitle: b\n---\nx",
          "---\narguments: [{name: a, complete: b}]\n---\nx",
          "---\narguments: [{name: a, complete: [[b]]}]\n---\nx",
          "---\narguments: [{name: a, required: \"true\"}]\n---\nx", "", "---", "---\n---\n",
          "\xFF"}) {
        EXPECT_NE(faults_of(text), "") << text;
    }
    EXPECT_NE(faults_of(std::string(prompt_bytes_max + 1, 'a')), "");
    EXPECT_NE(faults_of(std::string("a\0b", 3)), "");
    EXPECT_NE(faults_of("x", "my file"), "");
    EXPECT_EQ(faults_of("---\nname: mine\n---\nx", "my file"), "");
}

TEST(prompt_files, every_truncation) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
        sidecar::prompt_file made;
        config_faults faults;
        const bool good = read_prompt_file("f", whole.substr(0, size), made, faults);
        EXPECT_EQ(good, faults.empty()) << size;
    }
}

class prompt_folder : public ::testing::Test {
 protected:
    prompt_folder() {
        std::string name = ::testing::TempDir() + "prompts-XXXXXX";
        folder_ = ::mkdtemp(name.data());
    }
    ~prompt_folder() override { std::filesystem::remove_all(folder_); }

    void put(const std::string& name, std::string_view text) {
        std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    }

    std::string folder_;
};

TEST_F(prompt_folder, its_prompts) {
    put("b.md", "Second");
    put("a.md", whole);
    put(".hidden.md", "{{");
    put("notes.txt", "{{");
    std::filesystem::create_directory(folder_ + "/c.md");
    std::vector<sidecar::prompt_file> made;
    std::vector<std::string> faults;
    ASSERT_TRUE(read_prompt_folder(folder_, folder_, made, faults)) << faults.front();
    ASSERT_EQ(made.size(), 2U);
    EXPECT_EQ(made[0].name, "review");
    EXPECT_EQ(made[1].name, "b");
    server s("test", "1");
    add_prompt_files(s, made);
    pillion::testing::client c(s);
    EXPECT_EQ(c.prompt("b").text(), "Second");
    EXPECT_EQ(c.prompt("review", R"({"language":"C"})").text(), "Review this C change.");
    // While it runs, another of the name in its place.
    made[1].messages[0].parts[0].text = "Third";
    made.erase(made.begin());
    EXPECT_TRUE(s.update([&made](catalog& all) {
        all.remove_prompt("b");
        add_prompt_files(all, made);
    }));
    EXPECT_EQ(c.prompt("b").text(), "Third");
}

TEST_F(prompt_folder, its_faults) {
    put("a.md", "{{x}}");
    put("b.md", "---\nname: same\n---\nx");
    put("c.md", "---\nname: same\n---\ny");
    put("d.md", "good");
    std::vector<sidecar::prompt_file> made;
    std::vector<std::string> faults;
    EXPECT_FALSE(read_prompt_folder(folder_, folder_, made, faults));
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(faults[0].rfind(folder_ + "/a.md:1:1: {{x}}", 0), 0U) << faults[0];
    EXPECT_NE(faults[1].find("c.md:1:1: the prompt of"), std::string::npos) << faults[1];
    EXPECT_EQ(made.size(), 2U);
    EXPECT_FALSE(read_prompt_folder(folder_ + "/none", folder_ + "/none", made, faults));
    EXPECT_NE(faults[2].find("none"), std::string::npos);
    // A name that is not to be shown.
    put("e.md", "---\nname: same\n---\nz");
    faults.clear();
    EXPECT_FALSE(read_prompt_folder(folder_, "X", made, faults));
    EXPECT_FALSE(read_prompt_folder(folder_ + "/none", "X", made, faults));
    ASSERT_EQ(faults.size(), 4U);
    for (const std::string& one : faults) {
        EXPECT_EQ(one.find(folder_), std::string::npos) << one;
    }
}

}  // namespace
}  // namespace pillion::app
