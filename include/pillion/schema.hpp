// Fluent construction of JSON Schemas for tool arguments and results.
//
//     object().required("city", string().min(1).about("City name"))
//             .optional("days", integer().min(1).max(14))
//
// A schema is a value that holds finished JSON text; nothing is checked until it is registered
// with a server, which refuses a malformed one with a message. Objects made by object() refuse
// unknown properties ("additionalProperties": false) unless open() is called.
//
// Thread-safety: ordinary values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pillion {

class schema {
 public:
    // Any schema given as JSON text; it is published exactly as written, keyword by keyword.
    static schema raw(std::string json);

    // Description shown to the model.
    schema& about(std::string_view text);
    schema& title(std::string_view text);
    // Bounds: length for strings, value for numbers, element count for arrays.
    schema& min(double bound);
    schema& max(double bound);
    // String format annotation ("date-time", "email", "uri", …).
    schema& format(std::string_view name);
    schema& pattern(std::string_view regex);
    // Allowed values of a string.
    schema& one_of(std::initializer_list<std::string_view> values);
    schema& one_of(const std::string_view* values, std::size_t count);
    // The default, as JSON text (a string default therefore needs its quotes).
    schema& default_json(std::string_view json);
    // Mirrors this argument in the request header "Mcp-Param-<suffix>" (2026-07-28). Only for
    // string, integer and boolean.
    schema& header(std::string_view suffix);
    // Any further keyword, value given as JSON text.
    schema& keyword(std::string_view name, std::string_view json);

    // For objects: a property that must be there, or may be there.
    schema& required(std::string_view name, const schema& property);
    schema& optional(std::string_view name, const schema& property);
    // For objects: properties beyond the declared ones are allowed.
    schema& open();

    // The schema as JSON text.
    std::string json() const;

 private:
    friend schema object();
    friend schema string();
    friend schema integer();
    friend schema number();
    friend schema boolean();
    friend schema anything();
    friend schema array(const schema& items);
    explicit schema(std::string_view type);

    std::string raw_;   // set by raw(): everything else is empty
    std::string type_;  // JSON Schema type name; empty: any
    std::vector<std::pair<std::string, std::string>> keywords_;    // name → JSON
    std::vector<std::pair<std::string, std::string>> properties_;  // name → JSON
    std::vector<std::string> required_;
    bool open_ = false;
};

schema object();
schema string();
schema integer();
schema number();
schema boolean();
// Any value.
schema anything();
// An array whose elements all satisfy `items`.
schema array(const schema& items);

}  // namespace pillion
