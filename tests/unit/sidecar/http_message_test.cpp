// http_message: what fields repeat of a message, and how values travel in them.
#include "sidecar/http_message.hpp"

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::sidecar {
namespace {

const std::string modern = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"})";

http_message of(const std::string& text, const tool_fields& tools = {}) {
    return read_message(text, tools);
}

std::string field_of(const http_message& of, std::string_view name) {
    for (const auto& [key, value] : of.fields) {
        if (key == name) {
            return value;
        }
    }
    return "(none)";
}

TEST(http_message, its_kind) {
    EXPECT_EQ(of(R"({"id":7,"method":"ping"})").what, http_message::kind::request);
    EXPECT_EQ(of(R"({"id":7,"method":"ping"})").id, 7U);
    EXPECT_EQ(of(R"({"method":"notifications/initialized"})").what,
              http_message::kind::notification);
    EXPECT_EQ(of(R"({"id":"a","result":{}})").what, http_message::kind::response);
    EXPECT_EQ(of(R"({"method":"notifications/cancelled","params":{"requestId":4}})").cancels, 4U);
}

// Of a session nothing is repeated.
TEST(http_message, fields_of_the_modern_era) {
    EXPECT_TRUE(of(R"({"id":1,"method":"tools/call","params":{"name":"a"}})").fields.empty());
    const auto call =
        of(R"({"id":1,"method":"tools/call","params":{"name":"grüße",)" + modern + "}}");
    EXPECT_EQ(call.version, "2026-07-28");
    EXPECT_EQ(field_of(call, "Mcp-Method"), "tools/call");
    EXPECT_EQ(field_of(call, "Mcp-Name"), "=?base64?Z3LDvMOfZQ==?=");
    const auto read =
        of(R"({"id":1,"method":"resources/read","params":{"uri":"a://b",)" + modern + "}}");
    EXPECT_EQ(field_of(read, "Mcp-Name"), "a://b");
    const auto task = of(R"({"id":1,"method":"tasks/get","params":{"taskId":"t",)" + modern + "}}");
    EXPECT_EQ(field_of(task, "Mcp-Name"), "t");
    EXPECT_EQ(
        field_of(of(R"({"id":1,"method":"tools/list","params":{)" + modern + "}}"), "Mcp-Name"),
        "(none)");
}

TEST(http_message, arguments_that_are_repeated) {
    const tool_fields tools = fields_of_tools(
        {R"({"name":"t","inputSchema":{"type":"object","properties":{
             "s":{"type":"string","x-mcp-header":"Word"},
             "in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
             "b":{"type":"boolean","x-mcp-header":"B"},
             "z":{"type":"string","x-mcp-header":"Z"}}}})",
         R"({"name":"bad","inputSchema":{"properties":{"s":{"x-mcp-header":"a b"}}}})", "[]",
         "no json"});
    ASSERT_EQ(tools.size(), 1U);
    const auto call = of(R"({"id":1,"method":"tools/call","params":{"name":"t","arguments":)"
                         R"({"s":" x","in":{"n":42},"b":true,"z":null},)" +
                             modern + "}}",
                         tools);
    EXPECT_EQ(field_of(call, "Mcp-Param-Word"), "=?base64?IHg=?=");
    EXPECT_EQ(field_of(call, "Mcp-Param-N"), "42");
    EXPECT_EQ(field_of(call, "Mcp-Param-B"), "true");
    EXPECT_EQ(field_of(call, "Mcp-Param-Z"), "(none)");
}

// REVISIONS §5.7.
TEST(http_message, values_in_fields) {
    EXPECT_EQ(field_value(""), "");
    EXPECT_EQ(field_value("a b\tc"), "a b\tc");
    EXPECT_EQ(field_value("=?base64?x"), "=?base64?x");
    EXPECT_EQ(field_value("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
    for (const std::string text : {" a", "a ", "\ta", "a\n", "a\r\nX: y", "\x7f", "ä", "\x01"}) {
        const std::string coded = field_value(text);
        EXPECT_TRUE(coded.starts_with("=?base64?") && coded.ends_with("?=")) << coded;
    }
}

TEST(http_message, an_error_as_an_answer) {
    const auto parsed = json::document::parse(error_answer(3, -32006, "a \"b\"", "[1]"));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->root()["id"].u64(), 3U);
    EXPECT_EQ(parsed->root()["error"]["code"].i64(), -32006);
    EXPECT_EQ(parsed->root()["error"]["message"].str(), "a \"b\"");
    EXPECT_EQ(parsed->root()["error"]["data"].size(), 1U);
}

}  // namespace
}  // namespace pillion::sidecar
