// Which references a schema has, and schemas as a whole; openapi_keywords.cpp writes what is in
// one.
#include "sidecar/openapi_schema.hpp"

#include <algorithm>
#include <utility>

#include "json/node.hpp"
#include "schema/uri.hpp"
#include "sidecar/openapi_keywords.hpp"
#include "sidecar/report_text.hpp"

namespace pillion::sidecar {

namespace {

// Longest name of a definition.
constexpr std::size_t definition_name_max = 64;
// Longest name of a property.
constexpr std::size_t name_bytes_max = 1024;

// The last token of a reference, as far as it can stand unescaped in one.
std::string name_of_reference(std::string_view reference) {
    const std::string_view last = reference.substr(reference.rfind('/') + 1);
    std::string out;
    for (const char c : last.substr(0, definition_name_max)) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
        out += plain ? c : '_';
    }
    return out.empty() ? "schema" : out;
}

}  // namespace

std::size_t text_size(json::view value, std::size_t bytes_max) {
    if (!value.exists()) {
        return 0;
    }
    std::size_t size = 0;
    const json::node* const end = json::next(value.raw());
    for (const json::node* at = value.raw(); at != end && size <= bytes_max; ++at) {
        const bool text = at->type == json::kind::string || at->type == json::kind::number;
        size += 4 + (text ? at->size : 0);
    }
    return size;
}

bool openapi_schema::fail(std::string text) {
    fault_ = std::move(text);
    return false;
}

bool openapi_schema::spend(std::size_t steps) {
    steps_ += steps;
    if (steps_ > steps_max) {
        return fail("its schemas are too large");
    }
    if (budget_.steps < steps) {
        return fail("the schemas of all operations are too large together");
    }
    budget_.steps -= steps;
    return true;
}

bool openapi_schema::within(const json::builder& to) {
    return to.text().size() <= bytes_max || fail("its schemas are larger than 256 KiB");
}

// References are followed in turns, not within each other: a chain of them may be long.
bool openapi_schema::survey(json::view schema) {
    unread_.push_back(schema);
    while (!unread_.empty()) {
        const json::view next = unread_.back();
        unread_.pop_back();
        if (!survey_one(next)) {
            return false;
        }
    }
    return true;
}

bool openapi_schema::survey_reference(std::string_view reference) {
    const json::view leads_to = from_.find(reference, fault_);
    if (!leads_to.exists()) {
        return false;
    }
    target& known = targets_[leads_to.raw()];
    if (known.uses++ == 0) {
        known.schema = leads_to;
        known.reference = reference;
        unread_.push_back(leads_to);
    }
    return true;
}

bool openapi_schema::survey_one(json::view schema) {
    if (schema.is_bool()) {
        return spend(1);
    }
    if (!schema.is_object()) {
        return fail("a schema is neither an object nor a boolean");
    }
    if (schema.size() > openapi_document::members_max) {
        return fail("a schema has more than 256 members");
    }
    if (!spend(1 + schema.size())) {
        return false;
    }
    const json::view reference = schema["$ref"];
    if (reference.is_string()) {
        if (!survey_reference(reference.str())) {
            return false;
        }
        // OpenAPI 3.0 §4.7.23.1: what stands beside is ignored.
        if (from_.old_schemas()) {
            return true;
        }
    }
    for (const json::member m : schema.members()) {
        if (!survey_keyword(m.key, m.value)) {
            return false;
        }
    }
    return true;
}

bool openapi_schema::survey_keyword(std::string_view keyword, json::view value) {
    switch (how_held(keyword)) {
        case held::one:
            return survey_one(value);
        case held::list:
            for (const json::view one : value.elements()) {
                if (!survey_one(one)) {
                    return false;
                }
            }
            return true;
        case held::named:
            for (const json::member m : value.members()) {
                const bool left_out = keyword == "properties" && read_only(m.value);
                if (m.key.size() > name_bytes_max) {
                    return fail("a schema has a name of more than 1024 bytes");
                }
                if (!spend(1) || (!left_out && !survey_one(m.value))) {
                    return false;
                }
            }
            return true;
        case held::no:
            return true;
    }
    return true;
}

bool openapi_schema::read_only(json::view property) {
    std::string ignored;
    if (!property.is_object() || property.size() > openapi_document::members_max) {
        return false;
    }
    if (property["readOnly"].boolean()) {
        return true;
    }
    return property["$ref"].is_string() && from_.follow(property, ignored)["readOnly"].boolean();
}

bool openapi_schema::write(json::builder& to, json::view schema, const schema_use& how) {
    return write_one(to, schema, how, 0, {});
}

bool openapi_schema::write_one(json::builder& to, json::view schema, const schema_use& how,
                               std::size_t depth, const names& read_only) {
    if (!within(to) || !spend(1)) {
        return false;
    }
    if (schema.is_bool()) {
        to.value(schema.boolean());
        return true;
    }
    if (!schema.is_object()) {
        return fail("a schema is neither an object nor a boolean");
    }
    if (schema["$ref"].is_string()) {
        return write_reference(to, schema, how, depth, read_only);
    }
    frame at{schema, how, depth, read_only};
    return write_object(to, at);
}

bool openapi_schema::write_reference(json::builder& to, json::view schema, const schema_use& how,
                                     std::size_t depth, const names& read_only) {
    const std::string_view reference = schema["$ref"].str();
    const json::view leads_to = from_.find(reference, fault_);
    const auto found = targets_.find(leads_to.raw());
    if (!leads_to.exists() || found == targets_.end()) {
        return fail(fault_.empty() ? "a schema was not surveyed" : fault_);
    }
    target& known = found->second;
    const std::size_t described = schema["description"].exists() ? 2 : 1;
    const bool alone = from_.old_schemas() || schema.size() == described;
    schema_use inner = how;
    if (inner.description.empty()) {
        inner.description = schema["description"].str();
    }
    if (known.uses == 1 && known.name.empty() && alone && depth < inline_depth_max) {
        return write_one(to, leads_to, inner, depth + 1, read_only);
    }
    define(known);
    to.begin_object().member("$ref", "#/$defs/" + known.name);
    if (!inner.description.empty()) {
        to.member("description", cut_text(inner.description, description_bytes_max));
    }
    frame at{schema, how, depth, read_only};
    for (const json::member m : schema.members()) {
        const bool done = m.key == "$ref" || m.key == "description";
        if (!alone && !done && !write_keyword(to, at, m.key, m.value)) {
            return false;
        }
    }
    to.end_object();
    return true;
}

void openapi_schema::define(target& what) {
    if (!what.name.empty()) {
        return;
    }
    const std::string wanted = name_of_reference(what.reference);
    what.name = wanted;
    for (std::size_t i = 2; !definition_names_.insert(what.name).second; ++i) {
        what.name = wanted + "_" + std::to_string(i);
    }
    definitions_.push_back(what.schema.raw());
}

bool openapi_schema::write_definitions(json::builder& to) {
    if (!definitions_.empty()) {
        to.key("$defs").begin_object();
    }
    // What is written may need more of them.
    for (std::size_t i = 0; i < definitions_.size(); ++i) {
        const target& one = targets_.at(definitions_[i]);
        to.key(one.name);
        if (!write_one(to, one.schema, {}, 0, {})) {
            return false;
        }
    }
    if (!definitions_.empty()) {
        to.end_object();
    }
    if (!within(to)) {
        return false;
    }
    if (budget_.bytes < to.text().size()) {
        return fail("the schemas of all operations are too large together");
    }
    budget_.bytes -= to.text().size();
    return true;
}

}  // namespace pillion::sidecar
