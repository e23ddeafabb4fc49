// What is in one schema of an OpenAPI description, keyword by keyword.
#include "sidecar/openapi_keywords.hpp"

#include <algorithm>
#include <utility>

#include "schema/ecma_pattern.hpp"
#include "schema/regex.hpp"
#include "sidecar/openapi_schema.hpp"
#include "sidecar/report_text.hpp"

namespace pillion::sidecar {

namespace {

// A default, an example: what only a reader looks at is left out when it is long.
constexpr std::size_t shown_bytes_max = 512;
constexpr std::size_t pattern_bytes_max = 4096;
// Looking at a pattern takes about as long as looking at so many members.
constexpr std::size_t pattern_steps = 64;
// How deep the members of "allOf" are asked for properties that are read-only.
constexpr std::size_t all_of_depth_max = 8;

constexpr std::pair<std::string_view, held> holders[] = {
    {"properties", held::named},
    {"items", held::one},
    {"additionalProperties", held::one},
    {"allOf", held::list},
    {"anyOf", held::list},
    {"oneOf", held::list},
    {"not", held::one},
    {"patternProperties", held::named},
    {"propertyNames", held::one},
    {"prefixItems", held::list},
    {"contains", held::one},
    {"if", held::one},
    {"then", held::one},
    {"else", held::one},
    {"dependentSchemas", held::named},
    {"unevaluatedItems", held::one},
    {"unevaluatedProperties", held::one},
    {"contentSchema", held::one},
};

// Kept as they are. What else there is means nothing to JSON Schema, or nothing to a client.
constexpr std::string_view copied[] = {
    "const",           "format",           "multipleOf",  "maxLength",
    "minLength",       "maxItems",         "minItems",    "uniqueItems",
    "maxProperties",   "minProperties",    "maxContains", "minContains",
    "contentEncoding", "contentMediaType", "deprecated",  "dependentRequired"};

bool is_scalar(json::view value) { return !value.is_object() && !value.is_array(); }

bool is_small(json::view value) { return text_size(value, shown_bytes_max) <= shown_bytes_max; }

bool is_annotation_of_2020(std::string_view uri) {
    return uri == "https://json-schema.org/draft/2020-12/schema" ||
           uri.starts_with("https://spec.openapis.org/oas/3.");
}

}  // namespace

held how_held(std::string_view keyword) noexcept {
    for (const auto& [name, how] : holders) {
        if (name == keyword) {
            return how;
        }
    }
    return held::no;
}

// OpenAPI 3.0 §4.7.24.1: "nullable" adds null to the type it stands beside. Where it stands beside
// no type, or where more than the type would refuse null, people mean either of the two.
bool openapi_schema::write_object(json::builder& to, frame& at) {
    const json::view schema = at.schema;
    if (schema.size() > openapi_document::members_max || !spend(schema.size())) {
        return fault_.empty() ? fail("a schema has more than 256 members") : false;
    }
    at.nullable = schema["nullable"].boolean() && !at.how.never_null;
    at.any_of = schema["discriminator"].is_object() && !schema["anyOf"].exists();
    const bool apart = at.nullable && (!schema["type"].exists() || schema["allOf"].exists() ||
                                       schema["anyOf"].exists() || schema["oneOf"].exists());
    if (apart) {
        at.nullable = false;
        to.begin_object().key("anyOf").begin_array();
    }
    to.begin_object();
    const std::string_view own = schema["description"].str();
    const std::string_view about = at.how.description.empty() ? own : at.how.description;
    if (!about.empty()) {
        to.member("description", cut_text(about, description_bytes_max));
    }
    if (at.how.any_text && !schema["type"].exists()) {
        to.key("type").begin_array().value("string").value("number").value("boolean").end_array();
    }
    for (const json::member m : schema.members()) {
        // The last of two counts.
        if (schema[m.key].raw() == m.value.raw() && m.key != "description" &&
            !write_keyword(to, at, m.key, m.value)) {
            return false;
        }
    }
    to.end_object();
    if (apart) {
        to.begin_object().member("type", "null").end_object().end_array().end_object();
    }
    return within(to);
}

bool openapi_schema::write_keyword(json::builder& to, const frame& at, std::string_view keyword,
                                   json::view value) {
    if (keyword == "properties") {
        return write_properties(to, at, value);
    }
    const held how = how_held(keyword);
    if (how != held::no) {
        return write_subschemas(to, at, keyword, value, static_cast<std::uint8_t>(how));
    }
    if (keyword == "type") {
        return write_type(to, at, value);
    }
    if (keyword == "enum") {
        return write_enum(to, at, value);
    }
    if (keyword == "required") {
        return write_required(to, at, value);
    }
    if (keyword == "pattern") {
        return write_pattern(to, keyword, value);
    }
    if (keyword == "minimum" || keyword == "maximum" || keyword == "exclusiveMinimum" ||
        keyword == "exclusiveMaximum") {
        return write_bound(to, at, keyword, value);
    }
    if (keyword == "title") {
        if (value.is_string()) {
            to.member(keyword, cut_text(value.str(), description_bytes_max));
        }
        return true;
    }
    if (keyword == "default" && is_small(value)) {
        return write_copy(to, keyword, value);
    }
    // The keyword of JSON Schema is a list of them.
    if (keyword == "example" && is_scalar(value) && is_small(value) &&
        !at.schema["examples"].exists()) {
        to.key("examples").begin_array().value(value).end_array();
        return true;
    }
    if (keyword == "examples" && value.is_array() && is_small(value)) {
        return write_copy(to, keyword, value);
    }
    if (keyword == "$dynamicRef" || keyword == "$recursiveRef" || keyword == "$id") {
        return fail("a schema has " + std::string(keyword));
    }
    if (keyword == "$schema" && !is_annotation_of_2020(value.str())) {
        return fail("a schema is not of JSON Schema 2020-12");
    }
    if (std::find(std::begin(copied), std::end(copied), keyword) != std::end(copied)) {
        return write_copy(to, keyword, value);
    }
    return true;
}

bool openapi_schema::write_copy(json::builder& to, std::string_view keyword, json::view value) {
    const std::size_t size = text_size(value, bytes_max);
    if (size > bytes_max) {
        return fail("its schemas are larger than 256 KiB");
    }
    to.key(keyword).value(value);
    return spend(1 + size / 16) && within(to);
}

bool openapi_schema::write_subschemas(json::builder& to, const frame& at, std::string_view keyword,
                                      json::view value, std::uint8_t how_held) {
    const auto how = static_cast<held>(how_held);
    if (how == held::one) {
        to.key(keyword);
        return write_one(to, value, {}, at.depth + 1, {});
    }
    if (how == held::named) {
        to.key(keyword).begin_object();
        for (const json::member m : value.members()) {
            to.key(m.key);
            const bool paid = keyword != "patternProperties" || spend_pattern(m.key);
            if (!paid || !write_one(to, m.value, {}, at.depth + 1, {})) {
                return false;
            }
        }
        to.end_object();
        return true;
    }
    if (value.size() == 0) {
        return true;
    }
    // The parts of "allOf" are of one object: what one calls read-only another may require.
    names beyond;
    if (keyword == "allOf") {
        beyond = at.read_only;
        if (!collect_read_only(at.schema, 0, beyond)) {
            return false;
        }
    }
    to.key(keyword == "oneOf" && at.any_of ? "anyOf" : keyword).begin_array();
    for (const json::view one : value.elements()) {
        if (!write_one(to, one, {}, at.depth + 1, beyond)) {
            return false;
        }
    }
    to.end_array();
    return true;
}

bool openapi_schema::write_properties(json::builder& to, const frame& at, json::view value) {
    to.key("properties").begin_object();
    for (const json::member m : value.members()) {
        if (read_only(m.value)) {
            continue;
        }
        to.key(m.key);
        if (!write_one(to, m.value, {}, at.depth + 1, {})) {
            return false;
        }
    }
    to.end_object();
    return true;
}

// OpenAPI 3.0 §4.7.24.2, 3.1 (JSON Schema validation §9.4): whether something read-only is required
// is said of answers alone.
bool openapi_schema::collect_read_only(json::view schema, std::size_t depth, names& to) {
    std::string ignored;
    schema = from_.follow(schema, ignored);
    if (!schema.exists() || depth > all_of_depth_max) {
        return true;
    }
    for (const json::member m : schema["properties"].members()) {
        if (!spend(1)) {
            return false;
        }
        if (read_only(m.value)) {
            to.insert(m.key);
        }
    }
    for (const json::view one : schema["allOf"].elements()) {
        if (!spend(1) || !collect_read_only(one, depth + 1, to)) {
            return false;
        }
    }
    return true;
}

// A boolean, as of draft 3, is a frequent mistake and says nothing here.
bool openapi_schema::write_required(json::builder& to, const frame& at, json::view value) {
    if (!value.is_array()) {
        return true;
    }
    names hidden = at.read_only;
    if (text_size(value, bytes_max) > bytes_max || !spend(value.size()) ||
        !collect_read_only(at.schema, 0, hidden)) {
        return fault_.empty() ? fail("its schemas are larger than 256 KiB") : false;
    }
    to.key("required").begin_array();
    for (const json::view name : value.elements()) {
        if (!name.is_string() || hidden.count(name.str()) == 0) {
            to.value(name);
        }
    }
    to.end_array();
    return within(to);
}

bool openapi_schema::write_type(json::builder& to, const frame& at, json::view value) {
    if (!is_small(value)) {
        return fail("a type is none");
    }
    to.key("type");
    if (!at.nullable && !(at.how.never_null && value.is_array())) {
        to.value(value);
        return within(to);
    }
    to.begin_array();
    if (value.is_array()) {
        for (const json::view one : value.elements()) {
            if (one.str() != "null") {
                to.value(one);
            }
        }
    } else {
        to.value(value);
    }
    if (at.nullable) {
        to.value("null");
    }
    to.end_array();
    return within(to);
}

// Strictly the list of 3.0 must hold null as well; what people write means that it may be null.
bool openapi_schema::write_enum(json::builder& to, const frame& at, json::view value) {
    const std::size_t size = text_size(value, bytes_max);
    if (size > bytes_max || !spend(1 + size / 16)) {
        return fail("its schemas are larger than 256 KiB");
    }
    to.key("enum");
    if (!value.is_array()) {
        to.value(value);
        return true;
    }
    bool has_null = false;
    to.begin_array();
    for (const json::view one : value.elements()) {
        has_null = has_null || one.is_null();
        to.value(one);
    }
    if (at.nullable && !has_null) {
        to.value(nullptr);
    }
    to.end_array();
    return within(to);
}

// In 3.0 (and draft 4) the exclusive bounds are booleans that change the others.
bool openapi_schema::write_bound(json::builder& to, const frame& at, std::string_view keyword,
                                 json::view value) {
    if (keyword.starts_with("exclusive")) {
        return value.is_bool() || write_copy(to, keyword, value);
    }
    const bool least = keyword == "minimum";
    const std::string_view other = least ? "exclusiveMinimum" : "exclusiveMaximum";
    return write_copy(to, at.schema[other].boolean() ? other : keyword, value);
}

// RE2 takes as long as a pattern unfolds to; what needs no RE2 costs nothing to speak of.
bool openapi_schema::spend_pattern(std::string_view pattern) {
    schema_check::translation spelt;
    std::string ignored;
    const bool readable = schema_check::translate_pattern(pattern, spelt, ignored);
    return spend(pattern_steps + (readable && !spelt.plain ? spelt.weight : 0));
}

bool openapi_schema::write_pattern(json::builder& to, std::string_view keyword, json::view value) {
    const std::string_view pattern = value.str();
    std::string why;
    const bool usual = value.is_string() && pattern.size() <= pattern_bytes_max;
    if (usual && !spend_pattern(pattern)) {
        return false;
    }
    if (!usual || schema_check::regex::compile(pattern, why) == nullptr) {
        patterns_.push_back(one_line(pattern, 80) + (why.empty() ? "" : " (" + why + ")"));
        return true;
    }
    return write_copy(to, keyword, value);
}

}  // namespace pillion::sidecar
