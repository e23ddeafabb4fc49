// openapi_schema: schemas of an OpenAPI description as JSON Schema 2020-12 that stands alone.
//
// What a schema refers to once stands where it is used; what is used more often, and what refers to
// itself, becomes one of "$defs". So the text is at most as long as what it is made of, whatever
// refers to what. Schemas of 3.0 are translated ("nullable", booleans as exclusive bounds); those
// of 3.1 keep their keywords. Left out are properties that are "readOnly" (a request must not have
// them), "xml", "externalDocs", extensions, and patterns that only backtracking could match, which
// the upstream judges alone. With a "discriminator", "oneOf" becomes "anyOf": which one is meant is
// said by a name, so a second that fits as well is no fault.
//
// Ownership: views of the document. Thread-safety: an object for one tool, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <pillion/json.hpp>

#include "sidecar/import_budget.hpp"
#include "sidecar/openapi_document.hpp"

namespace pillion::sidecar {

// What stands around a schema and changes how it is written.
struct schema_use {
    std::string_view description{};  // in place of its own
    bool never_null = false;         // an argument that becomes text: null has none
    bool any_text = false;           // it has no type: string, number or boolean
};

class openapi_schema {
 public:
    static constexpr std::size_t bytes_max = 256 * 1024;  // of one tool
    static constexpr std::size_t steps_max = 64 * 1024;   // likewise
    static constexpr std::size_t description_bytes_max = 1024;
    // A schema this deep within others becomes a definition rather than one more level.
    static constexpr std::size_t inline_depth_max = 24;

    openapi_schema(openapi_document& from, import_budget& budget) : from_(from), budget_(budget) {}

    // Counts what is used how often; all schemas of the tool first. False with a fault.
    bool survey(json::view schema);
    // Writes a schema. REQUIRES: survey() of it. False with a fault; `to` is of no use then.
    bool write(json::builder& to, json::view schema, const schema_use& how = {});
    // Writes "$defs" as a member of the object begun in `to`, if there are any; last of all.
    bool write_definitions(json::builder& to);

    // A property that no request has, as far as references tell.
    bool read_only(json::view property);

    const std::string& fault() const noexcept { return fault_; }
    // Patterns that were left out.
    const std::vector<std::string>& patterns_left_out() const noexcept { return patterns_; }

 private:
    using names = std::set<std::string_view>;
    struct target {
        json::view schema;
        std::string_view reference;
        std::size_t uses = 0;
        std::string name;  // as a definition; empty as long as it is none
    };
    // One schema while it is written.
    struct frame {
        json::view schema;
        const schema_use& how;
        std::size_t depth;
        const names& read_only;  // properties that are not asked for
        bool nullable = false;   // by its own keyword, of 3.0
        bool any_of = false;     // in place of oneOf
    };

    bool fail(std::string text);
    bool spend(std::size_t steps);
    bool within(const json::builder& to);
    bool survey_one(json::view schema);
    bool survey_keyword(std::string_view keyword, json::view value);
    bool survey_reference(std::string_view reference);
    bool write_one(json::builder& to, json::view schema, const schema_use& how, std::size_t depth,
                   const names& read_only);
    bool write_reference(json::builder& to, json::view schema, const schema_use& how,
                         std::size_t depth, const names& read_only);
    bool write_object(json::builder& to, frame& at);
    bool write_keyword(json::builder& to, const frame& at, std::string_view keyword,
                       json::view value);
    bool write_subschemas(json::builder& to, const frame& at, std::string_view keyword,
                          json::view value, std::uint8_t how_held);
    bool write_properties(json::builder& to, const frame& at, json::view value);
    bool write_required(json::builder& to, const frame& at, json::view value);
    bool write_type(json::builder& to, const frame& at, json::view value);
    bool write_enum(json::builder& to, const frame& at, json::view value);
    bool write_bound(json::builder& to, const frame& at, std::string_view keyword,
                     json::view value);
    bool write_pattern(json::builder& to, std::string_view keyword, json::view value);
    bool spend_pattern(std::string_view pattern);
    bool write_copy(json::builder& to, std::string_view keyword, json::view value);
    bool collect_read_only(json::view schema, std::size_t depth, names& to);
    void define(target& what);

    openapi_document& from_;
    import_budget& budget_;
    std::size_t steps_ = 0;
    std::string fault_;
    std::unordered_map<const json::node*, target> targets_;
    std::vector<json::view> unread_;              // to be surveyed
    std::vector<const json::node*> definitions_;  // in the order they are written
    std::set<std::string> definition_names_;
    std::vector<std::string> patterns_;
};

// How many bytes a value has as text, about; more than `bytes_max` where that is exceeded. Takes
// time linear in the values within, up to as many as `bytes_max`.
std::size_t text_size(json::view value, std::size_t bytes_max);

}  // namespace pillion::sidecar
