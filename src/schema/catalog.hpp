// catalog: the documents of one compilation, the resources in them ("$id") and their anchors; it
// says what a reference leads to. Nothing is fetched: there are the schema itself, the documents
// given along and the metaschemas, each looked at when a reference first asks for it.
//
// Ownership: the program keeps the documents, the catalog views of them. Thread-safety: for
// start-up; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pillion/json.hpp>

#include "json/document.hpp"
#include "schema/dialect.hpp"
#include "schema/validator.hpp"

namespace pillion::schema_check {

// A schema with a base URI of its own.
struct resource {
    std::string uri;  // without fragment; empty for a root without "$id"
    json::view root;
    dialect speaks;
    std::string fault;  // why nothing of it can be compiled; usually empty
};

// A subschema and the resource it belongs to.
struct place {
    json::view schema;
    std::uint32_t resource = 0;
};

struct anchor {
    json::view schema;
    bool dynamic = false;
};

class catalog {
 public:
    catalog(std::vector<json::document>& owned, std::span<const schema_document> given,
            const dialect& by_default);

    // Takes over the schema to compile, as resource 0. False with a fault when it is too large.
    bool add_root(json::view schema, std::string& fault);

    // What "$ref" `reference` in resource `from` leads to. False with a fault.
    bool find(std::uint32_t from, std::string_view reference, place& out, std::string& fault);

    const std::vector<resource>& resources() const noexcept { return resources_; }
    // The resource of a subschema, which is `known` when it is where keywords have subschemas.
    std::uint32_t resource_of(json::view schema, std::uint32_t known) const;
    // The dynamic anchor `name` of a resource; missing when it has none.
    json::view dynamic_anchor(std::uint32_t resource, const std::string& name) const;
    // The resource's URI and the pointer of `value` in the document, for faults: "#/a/b".
    std::string where(json::view value) const;

 private:
    bool add_document(json::view from, std::string uri, std::uint32_t& index, std::string& fault);
    bool load(const std::string& uri, std::uint32_t& index, std::string& fault);
    json::view find_given(std::string_view uri);
    void scan(json::view schema, std::uint32_t in);
    void scan_children(json::view schema, std::uint32_t in);
    void note_anchors(json::view schema, std::uint32_t in);
    std::uint32_t enter(json::view schema, std::uint32_t in);
    void choose_dialect(resource& made, const dialect& inherited);
    json::view child(json::view parent, std::string_view token);
    bool walk(std::uint32_t from, std::string_view pointer, place& out, std::string& fault);

    std::vector<json::document>& owned_;
    std::vector<std::string> document_uris_;  // one for each of owned_
    std::map<std::string, json::view> given_;
    dialect by_default_;
    std::vector<resource> resources_;
    std::map<std::string, std::uint32_t> by_uri_;
    std::unordered_map<const json::node*, std::uint32_t> homes_;  // of subschemas
    std::map<std::pair<std::uint32_t, std::string>, anchor> anchors_;
    // Members of large objects and elements of large arrays that pointers lead through.
    std::unordered_map<const json::node*, std::unordered_map<std::string_view, json::view>> names_;
    std::unordered_map<const json::node*, std::vector<json::view>> elements_;
    std::map<std::string, json::document> texts_;  // metaschemas that "$schema" named
};

}  // namespace pillion::schema_check
