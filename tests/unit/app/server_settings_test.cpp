// server_settings: what is taken from a client's own file, and what of it means a change.
#include "app/server_settings.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::app {
namespace {

std::vector<sidecar::bridge_spec> servers_in(std::string_view text) {
    std::vector<sidecar::bridge_spec> all;
    std::vector<std::string> ignored;
    std::string fault;
    EXPECT_TRUE(parse_client_file(text, all, ignored, fault)) << fault << "\n" << text;
    return all;
}

std::uint64_t print_of(const std::string& entry, const std::string& beside = "") {
    const auto all = servers_in("{" + beside + R"("mcpServers":{"a":{)" + entry + "}}}");
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? 0 : all[0].fingerprint;
}

// What followed an escaped quote was taken for outside: the URL became a comment.
TEST(server_settings, what_looks_like_a_comment_in_a_text_is_text) {
    const auto all = servers_in(
        R"({"mcpServers": { // "b": {
            "a": {"command": "x", "args": ["{\"at\":\"https://a.example\"}", "\\", "// c", /* " */
                                           "say \"a /* b */ c\" \\\" // d"]}}})");
    ASSERT_EQ(all.size(), 1U);
    const std::vector<std::string> argv = {"x", R"({"at":"https://a.example"})", "\\", "// c",
                                           R"(say "a /* b */ c" \" // d)"};
    EXPECT_EQ(all[0].argv, argv);
}

// Clients keep other things in the same file, and write them while their servers work.
TEST(server_settings, a_server_has_changed_when_its_entry_says_something_else) {
    const std::string entry = R"("command":"x","args":["1"],"env":{"A":"b"},"autoApprove":["t"])";
    const std::uint64_t one = print_of(entry);
    EXPECT_EQ(print_of(entry, R"("numStartups":2,)"), one);
    EXPECT_EQ(print_of(R"("command":"x","args":["1"],"env":{"A":"b"},"autoApprove":["t","u"])"),
              one);
    for (const char* const other :
         {R"("command":"y","args":["1"],"env":{"A":"b"})",
          R"("command":"x","args":["1","2"],"env":{"A":"b"})",
          R"("command":"x","args":["1"],"env":{"A":"c"})",
          R"("command":"x","args":["1"],"env":{"B":"b"})", R"("command":"x","args":["1","A","b"])",
          R"("command":"x","args":["1"],"env":{"A":"b"},"disabledTools":["t"])"}) {
        EXPECT_NE(print_of(other), one) << other;
    }
}

}  // namespace
}  // namespace pillion::app
