// validator: checks JSON values against a JSON Schema that was compiled once.
//
// Dialects: 2020-12, and draft-07 when "$schema" says so, all keywords; also a metaschema that is
// given along and whose "$vocabulary" is known. Any other dialect is a fault, and so is a pattern
// that RE2 cannot match and a reference to a document that was not given. "format" is an annotation
// unless it is asked to assert, "content…" always.
//
// Ownership: a validator keeps its own copy of the schema. Thread-safety: immutable once compiled;
// validate() may run on any number of threads, each with its own arena.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <pillion/json.hpp>

#include "base/arena.hpp"

namespace pillion::schema_check {

// Subschemas and different patterns in a schema and what it refers to, and how large the patterns
// are together (ecma_pattern.hpp).
inline constexpr std::size_t subschemas_max = 32'768;
inline constexpr std::size_t patterns_max = 1'000;
inline constexpr std::size_t patterns_weight_max = 100'000;
// What one validation may cost: subschemas within each other, and steps (a step is about 10 ns; a
// request of the largest size needs a tenth for a usual schema).
inline constexpr std::size_t depth_max = 512;
inline constexpr std::size_t steps_max = 4'000'000;
// What is said about a value that was refused.
inline constexpr std::size_t errors_max = 8;
inline constexpr std::size_t message_bytes_max = 256;
// Names longer than this are left out of paths, with what is below them.
inline constexpr std::size_t path_name_bytes_max = 256;

// A document that schemas may refer to by its URI, or by the "$id" in it.
struct schema_document {
    std::string_view uri;
    json::view root;
};

struct compile_options {
    bool assert_formats = false;
    bool draft7_by_default = false;  // where there is no "$schema"
    std::span<const schema_document> documents{};
};

// Why a value was refused. The texts live as long as the validator and the arena given to
// validate().
struct failure {
    // JSON Pointer of the value at fault; of the missing member for "required". Names in it may
    // stem from the client.
    std::string_view path;
    // The beginning of `path` that holds nothing but names the schema declares and array indexes:
    // safe to show to anybody.
    std::string_view declared_path;
    std::string_view keyword;  // the keyword that refused it
    std::string_view reason;   // required, type, range, enum, unknown, unique, pattern, format,
                               // schema or limit
    std::string_view message;  // what was expected, in words of ours and of the schema
};

struct report {
    std::array<failure, errors_max> errors{};
    std::size_t count = 0;
};

struct program;

class validator {
 public:
    // Compiles a schema. Null with `fault` set to "#/path/in/schema: what is wrong" when it is
    // malformed or refers to a document that is not given. Allocates.
    static std::unique_ptr<validator> compile(json::view schema_root, std::string& fault,
                                              const compile_options& how = {});

    ~validator();
    validator(const validator&) = delete;
    validator& operator=(const validator&) = delete;

    // Whether `instance` satisfies the schema; if not, `first` says why. Memory comes from
    // `memory`, none from the heap but what RE2 needs (schema/regex.hpp).
    bool validate(json::view instance, base::arena& memory, failure& first) const noexcept;
    // The same, with up to errors_max reasons.
    bool validate(json::view instance, base::arena& memory, report& why) const noexcept;

 private:
    explicit validator(std::unique_ptr<program> compiled) noexcept;

    std::unique_ptr<program> program_;
};

}  // namespace pillion::schema_check
