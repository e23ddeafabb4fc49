// program: what a JSON Schema is compiled to. Every subschema is a block, a run of steps in one
// array; a step asserts one keyword and names its operands by their places in flat tables.
//
// A new keyword is a new op, a rule in compiler.cpp and a case in runner.cpp.
//
// Ownership: a program owns its copy of the schema; names, numbers and values point into it.
// Thread-safety: immutable once compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>

#include "json/document.hpp"
#include "schema/decimal.hpp"

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
    required,            // names[a, +b)
    dependent_required,  // property names[c] needs names[a, +b)
    properties,          // properties[a, +b), others: block c
    property_names,      // block a
    dependent_schema,    // property names[b] needs block a
    items,               // first elements: children[a, +b), others: block c
    contains,            // block a, counts[b] to counts[b + 1] times
    all_of,              // children[a, +b); likewise the next two
    any_of,
    one_of,
    negation,   // block a
    condition,  // if block a then block b else block c
    reference,  // block a
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
    bool never = false;  // the schema false
};

struct property {
    std::string_view name;
    std::uint32_t block = no_block;
};

struct bound {
    decimal exact{};
    std::optional<std::int64_t> whole{};  // the same when it is a plain integer
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
    std::optional<json::document> schema;
    std::vector<block> blocks;  // block 0 is the root
    std::vector<step> steps;
    std::vector<std::uint32_t> children;
    std::vector<property> properties;  // each run sorted by name
    std::vector<std::string_view> names;
    std::vector<json::view> values;
    std::vector<bound> bounds;
    std::vector<divisor> divisors;
    std::vector<std::uint64_t> counts;
};

}  // namespace pillion::schema_check
