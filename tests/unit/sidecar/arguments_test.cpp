// arguments: what a tool uses, as a schema, and against one.
#include "sidecar/arguments.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pillion::sidecar {
namespace {

std::string shown(const tool_spec& what) {
    std::string all;
    for (const used_argument& one : used_arguments(what)) {
        all += one.name + (one.required ? "!" : "") + (one.any_type ? "* " : " ");
    }
    return all;
}

TEST(arguments, of_commands) {
    tool_spec what;
    what.command.emplace();
    what.command->argv = {"p", "{a}", "x{b}", "{b}", "{c}{d}"};
    EXPECT_EQ(shown(what), "a* b! c! d! ");
    EXPECT_EQ(schema_of(used_arguments(what)),
              R"({"type":"object","properties":{"a":{},"b":{"type":["string","number","boolean"]},)"
              R"("c":{"type":["string","number","boolean"]},)"
              R"("d":{"type":["string","number","boolean"]}},)"
              R"("required":["b","c","d"],"additionalProperties":false})");
}

TEST(arguments, of_requests) {
    tool_spec what;
    what.http.emplace();
    what.http->path = "/{id}/{x}";
    what.http->query = {{"q", "{q}"}, {"r", "a{r}"}};
    what.http->headers = {{"h", "{h}"}};
    what.http->sends = http_spec::body_kind::one;
    what.http->body = "item";
    EXPECT_EQ(shown(what), "id! x! q* r! h item* ");
    what.http->sends = http_spec::body_kind::text;
    what.http->body = "b {t}";
    EXPECT_EQ(shown(what), "id! x! q* r! h t! ");
}

TEST(arguments, against_a_schema) {
    tool_spec what;
    std::string fault;
    what.command.emplace();
    what.command->argv = {"p", "{a}"};
    EXPECT_TRUE(fits_schema(what, used_arguments(what), fault));
    what.input_json = R"({"type":"object","properties":{"a":{}}})";
    EXPECT_TRUE(fits_schema(what, used_arguments(what), fault));
    what.input_json = R"({"type":"object","properties":{"b":{}}})";
    EXPECT_FALSE(fits_schema(what, used_arguments(what), fault));
    EXPECT_EQ(fault, "uses {a}, which is not among the properties of input");
    what.input_json.clear();
    what.command->standard_input = command_spec::input::arguments;
    EXPECT_FALSE(fits_schema(what, used_arguments(what), fault));
}

}  // namespace
}  // namespace pillion::sidecar
