// openapi_document: an OpenAPI description (3.0, 3.1 and 3.2) as a tree, and what the references in
// it lead to. Nothing is fetched: a reference to another document leads nowhere.
//
// The text may be hostile: its size, its depth and the number of its values are bounded, and so is
// the time of each step. Views live as long as the document. Thread-safety: an ordinary object for
// one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <pillion/json.hpp>
#include <pillion/result.hpp>

#include "json/document.hpp"

namespace pillion::sidecar {

class openapi_document {
 public:
    // The largest published descriptions have about 15 MB and half a million values.
    static constexpr std::size_t bytes_max = 64 * 1024 * 1024;
    static constexpr std::size_t nodes_max = 4 * 1024 * 1024;
    static constexpr std::size_t reference_bytes_max = 2048;
    // A reference may lead to a reference, so many times.
    static constexpr std::size_t hops_max = 16;
    // Members of an object of the specification, such as an operation or a schema: what is looked
    // up by name, one member after the other.
    static constexpr std::size_t members_max = 256;

    // The error is of a constant text; `where`, when given, is the byte at which the text stops
    // being JSON.
    static result<openapi_document> parse(std::string_view json, std::size_t* where = nullptr);

    json::view root() const noexcept { return text_.root(); }
    // Schemas are those of 3.0, not JSON Schema 2020-12.
    bool old_schemas() const noexcept { return old_schemas_; }

    // What "$ref" `reference` leads to (a JSON Pointer in a URI fragment, RFC 6901 §6). Missing
    // with a fault in words where it leads nowhere.
    json::view find(std::string_view reference, std::string& fault);
    // `value` itself, or what it refers to if it is a Reference Object. Missing with a fault where
    // it leads nowhere, is no object or has too many members.
    json::view follow(json::view value, std::string& fault);

 private:
    explicit openapi_document(json::document text) noexcept : text_(std::move(text)) {}
    json::view child(json::view parent, std::string_view token);

    json::document text_;
    bool old_schemas_ = false;
    std::unordered_map<std::string, json::view> found_;  // by reference
    // Members of large objects, elements of large arrays that references lead through.
    std::unordered_map<const json::node*, std::unordered_map<std::string_view, json::view>> names_;
    std::unordered_map<const json::node*, std::vector<json::view>> elements_;
};

}  // namespace pillion::sidecar
