// program: what a JSON Schema is compiled to. Every subschema is a block, a run of steps in one
// array; a step asserts one keyword and names its operands by their places in flat tables.
//
// A new keyword is a new op, a rule in compiler.cpp and a case in runner.cpp.
//
// Ownership: a program owns copies of the schema and of the documents it refers to; names, numbers
// and values point into them. Thread-safety: immutable once compiled.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>

#include "json/document.hpp"
#include "schema/decimal.hpp"
#include "schema/formats.hpp"
#include "schema/regex.hpp"

namespace pillion::schema_check {

enum class op : std::uint8_t {
    never,        // the schema false
    type,         // a: mask of type_bit
    enumeration,  // values[a, +b)
    constant,     // values[a]
    minimum,      // bounds[a]; likewise the next three
    maximum,
    exclusive_minimum,
    exclusive_maximum,
    multiple_of,  // divisors[a]
    min_length,   // counts[a]; likewise the next five
    max_length,
    min_items,
    max_items,
    min_properties,
    max_properties,
    unique_items,
    pattern,             // patterns[a]
    format,              // formats[a]
    required,            // what op::properties says of a member that is not there
    dependent_required,  // property names[c] needs names[a, +b)
    properties,          // objects[a]
    property_names,      // block a
    dependent_schema,    // property names[b] needs block a
    items,               // first elements: children[a, +b), others: block c
    contains,            // block a, counts[b] to counts[b + 1] times; c: 1 when it evaluates
    all_of,              // children[a, +b); likewise the next two
    any_of,
    one_of,
    negation,                // block a
    condition,               // if block a then block b else block c
    reference,               // block a
    dynamic_reference,       // dynamics[a]
    unevaluated_properties,  // block a, for what no other keyword looked at
    unevaluated_items,       // block a
};

// The index that means "no block".
inline constexpr std::uint32_t no_block = UINT32_MAX;

struct step {
    op code = op::never;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = no_block;
};

// The steps of one subschema, [first, first + count).
struct block {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t resource = 0;
    std::uint32_t types = 0;   // what its first step allows, if that is `type`; else 0
    bool never = false;        // the schema false
    bool unevaluated = false;  // has a step that needs to know what others looked at
};

// The first eight bytes of a name, zeros behind it. REQUIRES: limits::padding bytes behind it are
// readable, as they are in everything the parser made.
inline std::uint64_t head_of(std::string_view name) noexcept {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, name.data(), sizeof bytes);
    const std::size_t left = std::min<std::size_t>(name.size(), sizeof bytes);
    return left == 0 ? 0 : bytes & (~std::uint64_t{0} >> (64 - 8 * left));
}
static_assert(std::endian::native == std::endian::little);

// A name that "properties" or "required" has.
struct property {
    std::string_view name;
    std::uint64_t head = 0;  // of the name, see head_of()
    std::uint32_t block = no_block;
    std::uint32_t next = 0;   // the one behind it in the schema; values come in that order, too
    bool declared = false;    // by "properties"
    std::uint8_t needed = 0;  // by "required": the number of its bit, from 1
};

// A property name by its pattern.
struct pattern_property {
    std::uint32_t pattern = 0;
    std::uint32_t block = no_block;
};

// properties, patternProperties, additionalProperties and required of one schema.
struct object_rule {
    std::uint32_t first = 0;  // properties[first, +count), sorted by name
    std::uint32_t count = 0;
    std::uint32_t start = 0;  // the first of them in the schema
    std::uint32_t pattern_first = 0;
    std::uint32_t pattern_count = 0;
    std::uint32_t rest = no_block;  // additionalProperties
    std::uint64_t needed = 0;       // bits of the required ones
};

// A "$dynamicRef": in the outermost resource of `entries` that validation is in, else `fallback`.
struct dynamic_entry {
    std::uint32_t resource = 0;
    std::uint32_t block = no_block;
};
struct dynamic_jump {
    std::uint32_t first = 0;  // dynamic_entries[first, +count), sorted by resource
    std::uint32_t count = 0;
    std::uint32_t fallback = no_block;
};

struct bound {
    decimal exact{};
    short_decimal brief{};  // the same when it fits
    std::string_view text{};
};

struct step_width {
    divisor by{};
    std::string_view text{};
};

struct pattern {
    std::unique_ptr<regex> expression;
    std::string_view text;
};

struct named_format {
    format_check check = nullptr;
    std::string_view name;
};

enum type_bit : std::uint32_t {
    bit_null = 1,
    bit_boolean = 2,
    bit_object = 4,
    bit_array = 8,
    bit_number = 16,
    bit_string = 32,
    bit_integer = 64,
};

struct program {
    std::vector<json::document> documents;
    std::vector<block> blocks;  // block 0 is the root
    std::vector<step> steps;
    std::vector<std::uint32_t> children;
    std::vector<object_rule> objects;
    std::vector<property> properties;
    std::vector<pattern_property> pattern_properties;
    std::vector<dynamic_jump> dynamics;
    std::vector<dynamic_entry> dynamic_entries;
    std::vector<std::string_view> names;
    std::vector<json::view> values;
    std::vector<bound> bounds;
    std::vector<step_width> divisors;
    std::vector<std::uint64_t> counts;
    std::vector<pattern> patterns;
    std::vector<named_format> formats;
};

}  // namespace pillion::schema_check
