#include "schema/texts.hpp"

#include <iterator>

namespace pillion::schema_check {

namespace {

// In the order of op.
constexpr op_text texts[] = {
    {"false", "unknown", "is not allowed here"},
    {"type", "type", "has the wrong type", "; expected "},
    {"enum", "enum", "is none of the allowed values", ": "},
    {"const", "enum", "is not the one allowed value", ": "},
    {"minimum", "range", "is below the minimum", " "},
    {"maximum", "range", "is above the maximum", " "},
    {"exclusiveMinimum", "range", "is not above", " "},
    {"exclusiveMaximum", "range", "is not below", " "},
    {"multipleOf", "range", "is not a multiple of", " "},
    {"minLength", "range", "is too short", "; characters at least: "},
    {"maxLength", "range", "is too long", "; characters at most: "},
    {"minItems", "range", "has too few elements", "; at least: "},
    {"maxItems", "range", "has too many elements", "; at most: "},
    {"minProperties", "range", "has too few properties", "; at least: "},
    {"maxProperties", "range", "has too many properties", "; at most: "},
    {"uniqueItems", "unique", "has equal elements"},
    {"pattern", "pattern", "does not match the pattern", " "},
    {"format", "format", "has not the format", " "},
    {"required", "required", "is required"},
    {"dependentRequired", "required", "is required together with", " "},
    {"additionalProperties", "unknown", "is not a known property", "; known: "},
    {"propertyNames", "unknown", "has a name that is not allowed"},
    {"dependentSchemas", "schema", "does not fit together with another property"},
    {"items", "range", "is an element that is not allowed"},
    {"contains", "schema", "has too few or too many elements of the kind asked for", "; "},
    {"allOf", "schema", "does not satisfy every alternative"},
    {"anyOf", "schema", "satisfies none of the alternatives"},
    {"oneOf", "schema", "does not satisfy exactly one of the alternatives"},
    {"not", "schema", "is of a kind that is not allowed"},
    {"if", "schema", "does not satisfy the condition"},
    {"$ref", "schema", "does not satisfy the referenced schema"},
    {"$dynamicRef", "schema", "does not satisfy the referenced schema"},
    {"unevaluatedProperties", "unknown", "is not a known property"},
    {"unevaluatedItems", "range", "is an element that is not allowed"},
};
static_assert(std::size(texts) == static_cast<std::size_t>(op::unevaluated_items) + 1);

}  // namespace

const op_text& text_of(op code) noexcept { return texts[static_cast<std::size_t>(code)]; }

}  // namespace pillion::schema_check
