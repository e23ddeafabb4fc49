#include "mcp/id_scanner.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

// What the scanner finds, whole and fed in two pieces at every position.
std::string find(std::string_view message) {
    id_scanner whole;
    whole.feed(message);
    const std::string found(whole.text());
    for (std::size_t cut = 0; cut <= message.size(); ++cut) {
        id_scanner halves;
        halves.feed(message.substr(0, cut));
        halves.feed(message.substr(cut));
        EXPECT_EQ(halves.text(), found) << message << " cut at " << cut;
    }
    return found;
}

TEST(id_scanner, finds_the_id_wherever_it_stands) {
    EXPECT_EQ(find(R"({"id":7,"method":"x"})"), "7");
    EXPECT_EQ(find(R"({"method":"x","params":{"a":[1,2]},"jsonrpc":"2.0","id":42})"), "42");
    EXPECT_EQ(find(R"({ "id" : "a b" , "x":1})"), R"("a b")");
    EXPECT_EQ(find("{\"x\":{},\"id\":\t-12 \r}"), "-12");
}

TEST(id_scanner, is_not_fooled_by_nested_members_and_strings) {
    EXPECT_EQ(find(R"({"params":{"id":1},"id":2})"), "2");
    EXPECT_EQ(find(R"({"params":[{"id":1}]})"), "");
    EXPECT_EQ(find(R"({"text":"\",\"id\":9,","n":1,"id":3})"), "3");
    EXPECT_EQ(find(R"({"a":"id","b":5})"), "");
    EXPECT_EQ(find(R"({"idx":5})"), "");
    EXPECT_EQ(find(R"([{"id":5}])"), "");
}

TEST(id_scanner, keeps_escapes_as_they_came) {
    EXPECT_EQ(find(R"({"id":"a\"b\\","z":1})"), R"("a\"b\\")");
}

TEST(id_scanner, the_last_of_duplicates_wins) { EXPECT_EQ(find(R"({"id":1,"id":2})"), "2"); }

TEST(id_scanner, an_overlong_id_is_none) {
    EXPECT_EQ(find("{\"id\":\"" + std::string(600, 'x') + "\"}"), "");
}

TEST(id_scanner, garbage_does_no_harm) {
    for (const char* text :
         {"", "}}}]]", "{{{{", "\"", "{\"id\":", "{\"id\"", "{\"id\":{}}", "::,,"}) {
        find(text);
    }
}

}  // namespace
}  // namespace pillion::mcp
