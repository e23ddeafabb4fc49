#include "sidecar/openapi_import.hpp"

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

#include "unit/sidecar/imported.hpp"

namespace pillion::sidecar {
namespace {

using namespace testing;

constexpr std::string_view zoo = R"({
  "openapi": "3.0.3",
  "info": {"title": "Zoo\n", "version": "1.2"},
  "servers": [{"url": "https://zoo.test/v1/"}],
  "paths": {
    "x-note": 1,
    "/animals": {
      "get": {"operationId": "animals/list", "summary": "List animals", "tags": ["animals"],
              "description": "Lists all of them."},
      "post": {"operationId": "animals/add", "description": "Adds one.", "tags": ["animals"],
               "requestBody": {"content": {"application/json": {}}}}
    },
    "/animals/{id}": {
      "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
      "get": {"deprecated": true, "tags": ["animals"]},
      "put": {"operationId": "animals/list", "tags": ["animals"]},
      "delete": {"operationId": "animals/remove", "tags": ["danger"]},
      "trace": {}
    },
    "/keepers": {"$ref": "#/components/pathItems/Keepers"}
  },
  "components": {"pathItems": {"Keepers": {"patch": {"operationId": "keepers"},
    "head": {"servers": [{"url": "https://other.test"}]},
    "options": {"servers": [{"url": "https://zoo.test/v1"}]}}}}
})";

std::vector<std::string> names_of(const openapi_import& made) {
    std::vector<std::string> out;
    for (const imported_tool& tool : made.tools) {
        out.push_back(tool.name);
    }
    return out;
}
using names = std::vector<std::string>;

TEST(openapi_import, names) {
    const openapi_import made = imported(std::string(zoo));
    EXPECT_EQ(names_of(made),
              (names{"animals_list", "animals_add", "get_animals_id", "put_animals_id",
                     "animals_remove", "options_keepers", "keepers"}));
    EXPECT_EQ(made.operations, 9U);
    EXPECT_EQ(made.skipped, 2U);
    EXPECT_EQ(made.title, "Zoo");
    EXPECT_EQ(made.version, "1.2");
    EXPECT_EQ(made.server_url, "https://zoo.test/v1");
    EXPECT_EQ(report_of(std::string(zoo)),
              "PUT /animals/{id}: another tool is called animals_list\n"
              "trace /animals/{id}: skipped: a method that is not offered\n"
              "HEAD /keepers: skipped: it is served elsewhere: https://other.test\n");
}

TEST(openapi_import, what_the_method_promises) {
    const openapi_import made = imported(std::string(zoo));
    const auto hints = [&made](std::size_t i) {
        const imported_tool& t = made.tools[i];
        return std::string(t.read_only ? "r" : "-") + (t.destructive ? "d" : "-") +
               (t.idempotent ? "i" : "-");
    };
    EXPECT_EQ(hints(0), "r-i");
    EXPECT_EQ(hints(1), "-d-");
    EXPECT_EQ(hints(3), "-di");
    EXPECT_EQ(hints(4), "-di");
    EXPECT_EQ(hints(6), "-d-");
}

TEST(openapi_import, descriptions) {
    const openapi_import made = imported(std::string(zoo));
    EXPECT_EQ(made.tools[0].title, "List animals");
    EXPECT_EQ(made.tools[0].description, "List animals\n\nLists all of them.");
    EXPECT_EQ(made.tools[1].title, "");
    EXPECT_EQ(made.tools[1].description, "Adds one.");
    EXPECT_EQ(made.tools[2].description, "[DEPRECATED] GET /animals/{id}");
    EXPECT_TRUE(made.tools[2].deprecated);
}

TEST(openapi_import, what_is_asked_for) {
    import_options how;
    how.include = {"tag:animals", "keepers"};
    how.exclude = {"* /animals/{id}", "tag:none"};
    const openapi_import made = imported(std::string(zoo), how);
    EXPECT_EQ(names_of(made), (names{"animals_list", "animals_add", "keepers"}));
    EXPECT_EQ(made.not_asked, 5U);
    EXPECT_EQ(describe(made.notes.back()), "no operation is like tag:none");
}

TEST(openapi_import, prefix_and_new_names) {
    import_options how;
    how.prefix = "zoo_";
    how.rename = {{"animals/add", "add"}, {"GET /animals/{id}", "zoo_animals_list"}, {"x", "y"}};
    const openapi_import made = imported(std::string(zoo), how);
    EXPECT_EQ(names_of(made),
              (names{"zoo_get_animals", "add", "zoo_animals_list", "zoo_put_animals_id",
                     "zoo_animals_remove", "zoo_options_keepers", "zoo_keepers"}));
    EXPECT_EQ(describe(made.notes.back()), "no operation is like x, which is to be renamed");
}

TEST(openapi_import, a_name_that_two_want) {
    import_options how;
    how.rename = {{"animals/*", "one"}};
    const openapi_import made = imported(std::string(zoo), how);
    EXPECT_EQ(names_of(made), (names{"one", "get_animals_id", "options_keepers", "keepers"}));
    EXPECT_EQ(made.skipped, 5U);
    // The route of one is the id of the other.
    const std::string twice = description(
        R"({"/a":{"get":{"operationId":"get_b"}},"/b":{"get":{"operationId":"get_b"}}})");
    EXPECT_NE(report_of(twice).find("GET /b: skipped: another tool has its name"),
              std::string::npos);
}

TEST(openapi_import, no_more_than_asked_for) {
    import_options how;
    how.tools_max = 2;
    const openapi_import made = imported(std::string(zoo), how);
    EXPECT_EQ(made.tools.size(), 2U);
    EXPECT_EQ(made.skipped, 7U);
}

TEST(openapi_import, servers_of_operations_alone) {
    const openapi_import made = imported(description(
        R"({"/a":{"servers":[{"url":"https://a.test/"}],"get":{}},
            "/b":{"get":{"servers":[{"url":"https://b.test"}]},"put":{}}})"));
    EXPECT_EQ(names_of(made), (names{"get_a", "put_b"}));
    EXPECT_EQ(made.server_url, "https://a.test");
}

TEST(openapi_import, long_names) {
    const std::string text =
        description(R"({"/a":{"get":{"operationId":")" + std::string(70, 'a') +
                    R"("}},"/b":{"get":{"operationId":")" + std::string(200, 'b') + "\"}}}");
    const openapi_import made = imported(text);
    EXPECT_EQ(made.tools[0].name.size(), 70U);
    EXPECT_EQ(made.tools[1].name.size(), 128U);
    ASSERT_EQ(made.notes.size(), 2U);
    EXPECT_NE(made.notes[0].reason.find("more than 64"), std::string::npos);
}

// The server takes what was made, warns of nothing, and lists it.
TEST(openapi_import, as_tools_of_a_server) {
    server s("test", "1");
    s.page_size(100);
    const openapi_import made = imported(std::string(zoo));
    for (const imported_tool& tool : made.tools) {
        s.tool(tool.name)
            .about(tool.description)
            .input(schema::raw(tool.input_json))
            .run([](context& ctx, json::view) { return ctx.text("called"); });
    }
    pillion::testing::client c(s);
    ASSERT_EQ(c.fault(), "");
    const pillion::testing::answer list = c.request("tools/list");
    EXPECT_EQ(list.result()["tools"].size(), made.tools.size());
    EXPECT_TRUE(c.call("animals_remove", R"({"id":"a"})").ok());
    EXPECT_FALSE(c.call("animals_remove", R"({"id":1})").ok());
    EXPECT_FALSE(c.call("animals_remove").ok());
}

std::string refusal(const import_options& how, const std::string& text = std::string(zoo)) {
    openapi_import made;
    std::string fault;
    EXPECT_FALSE(import_openapi(text, how, made, fault));
    return fault;
}

TEST(openapi_import, options_that_are_wrong) {
    import_options how;
    how.prefix = "a b";
    EXPECT_NE(refusal(how), "");
    how = {};
    how.include = {"/animals"};
    EXPECT_NE(refusal(how), "");
    how = {};
    how.rename = {{"a", "b/c"}};
    EXPECT_NE(refusal(how), "");
    how.rename = {{"a", "c"}, {"b", "c"}};
    EXPECT_NE(refusal(how), "");
    how.rename = {{"", "c"}};
    EXPECT_NE(refusal(how), "");
}

TEST(openapi_import, what_is_no_description) {
    EXPECT_NE(refusal({}, "{\"openapi\":\"3.0.3\",}").find("byte 19"), std::string::npos);
    EXPECT_NE(refusal({}, "{}"), "");
}

}  // namespace
}  // namespace pillion::sidecar
