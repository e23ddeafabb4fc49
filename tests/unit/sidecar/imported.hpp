// What the tests of imported OpenAPI descriptions share: documents around one operation, and what
// becomes of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/arena.hpp"
#include "base/chunk.hpp"
#include "json/document.hpp"
#include "schema/validator.hpp"
#include "sidecar/openapi_import.hpp"

namespace pillion::sidecar::testing {

// A description of version `version` with these paths and components, both JSON.
inline std::string description(std::string_view paths, std::string_view components = "{}",
                               std::string_view version = "3.0.3") {
    return R"({"openapi":")" + std::string(version) +
           R"(","info":{"title":"T","version":"1"},"paths":)" + std::string(paths) +
           R"(,"components":)" + std::string(components) + "}";
}

// POST /x with an operation's members, which follow a comma.
inline std::string one_operation(std::string_view members, std::string_view components = "{}",
                                 std::string_view version = "3.0.3") {
    return description(R"({"/x":{"post":{"operationId":"op")" + std::string(members) + "}}}",
                       components, version);
}

// The same with a schema as its JSON body.
inline std::string with_body(std::string_view schema, std::string_view components = "{}",
                             std::string_view version = "3.0.3") {
    return one_operation(
        R"(,"requestBody":{"required":true,"content":{"application/json":{"schema":)" +
            std::string(schema) + "}}}",
        components, version);
}

inline openapi_import imported(const std::string& text, const import_options& how = {}) {
    openapi_import made;
    std::string fault;
    EXPECT_TRUE(import_openapi(text, how, made, fault)) << fault << "\n" << text;
    return made;
}

// The one tool, which must be there.
inline imported_tool only_tool(const std::string& text, const import_options& how = {}) {
    openapi_import made = imported(text, how);
    std::string report;
    for (const import_note& note : made.notes) {
        report += describe(note) + "\n";
    }
    EXPECT_EQ(made.tools.size(), 1U) << report << text;
    return made.tools.empty() ? imported_tool() : made.tools.front();
}

// The report as a whole, a line for each note.
inline std::string report_of(const std::string& text, const import_options& how = {}) {
    std::string out;
    for (const import_note& note : imported(text, how).notes) {
        out += describe(note) + "\n";
    }
    return out;
}

// Part of the schema of a tool, as compact JSON.
inline std::string input_of(const imported_tool& tool, std::vector<std::string_view> way) {
    const auto parsed = json::document::parse(tool.input_json);
    EXPECT_TRUE(static_cast<bool>(parsed)) << tool.input_json;
    if (!parsed) {
        return {};
    }
    json::view at = parsed->root();
    for (const std::string_view step : way) {
        at = at[step];
    }
    json::builder text;
    text.value(at);
    return at.exists() ? std::string(text.text()) : "missing";
}

// What a schema of a body becomes.
inline std::string translated(std::string_view schema, std::string_view components = "{}",
                              std::string_view version = "3.0.3") {
    return input_of(only_tool(with_body(schema, components, version)), {"properties", "body"});
}

// Whether a tool takes these arguments, as the server judges them.
inline bool takes(const imported_tool& tool, std::string_view arguments) {
    const auto schema = json::document::parse(tool.input_json);
    const auto given = json::document::parse(arguments);
    std::string fault;
    const auto compiled = schema_check::validator::compile(schema->root(), fault);
    EXPECT_NE(compiled, nullptr) << fault;
    base::chunk_pool pool;
    base::arena memory(pool);
    schema_check::failure why;
    return compiled != nullptr && compiled->validate(given->root(), memory, why);
}

}  // namespace pillion::sidecar::testing
