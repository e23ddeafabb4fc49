// validator: checks JSON values against a JSON Schema that was compiled once.
//
// Dialects: 2020-12, and draft-07 when "$schema" says so. Asserted is everything that needs
// neither regular expressions nor other documents: type, enum, const, bounds, lengths, counts,
// required, properties, additionalProperties, propertyNames, items, prefixItems, contains,
// uniqueItems, the dependent… keywords, allOf, anyOf, oneOf, not, if/then/else and "$ref" inside
// the schema. Other keywords (pattern, format, unevaluated…) are annotations here; next to
// patternProperties, additionalProperties is one, too, since it could not be told what it means.
//
// Ownership: a validator keeps its own copy of the schema. Thread-safety: immutable once compiled;
// validate() may run on any number of threads, each with its own arena.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <pillion/json.hpp>

#include "base/arena.hpp"

namespace pillion::schema_check {

// Subschemas in a schema, and what one validation may cost: subschemas within each other, and
// steps (a step is about 10 ns; a request of the largest size needs a tenth for a usual schema).
inline constexpr std::size_t blocks_max = 65'536;
inline constexpr std::size_t depth_max = 512;
inline constexpr std::size_t steps_max = 4'000'000;

// Why a value was refused. The texts live as long as the arena given to validate().
struct failure {
    // JSON Pointer of the value at fault; of the missing member for "required". Names in it may
    // stem from the client.
    std::string_view path;
    // The beginning of `path` that holds nothing but names the schema declares and array indexes:
    // safe to show to anybody.
    std::string_view declared_path;
    std::string_view keyword;  // the keyword that refused it
    std::string_view reason;   // required, type, range, enum, unknown, unique, schema or limit
    std::string_view message;  // constant text, nothing of the value in it
};

struct program;

class validator {
 public:
    // Compiles a schema. Null with `fault` set to "#/path/in/schema: what is wrong" when it is
    // malformed or refers to something outside of itself. Allocates.
    static std::unique_ptr<validator> compile(json::view schema_root, std::string& fault);

    ~validator();
    validator(const validator&) = delete;
    validator& operator=(const validator&) = delete;

    // Whether `instance` satisfies the schema; `first` says why not. Memory comes from `memory`;
    // no heap is used but by json::equal() for "enum" and "const" with large objects.
    bool validate(json::view instance, base::arena& memory, failure& first) const noexcept;

 private:
    explicit validator(std::unique_ptr<program> compiled) noexcept;

    std::unique_ptr<program> program_;
};

}  // namespace pillion::schema_check
