// sample_value: a JSON value that a JSON Schema describes, made up: for the arguments of a tool of
// which nothing else is known, and for the forms that a server has its user fill in.
//
// It follows what schemas of tools usually say: types, enum, const, default and examples,
// properties, items, bounds of numbers, lengths and counts, formats, anyOf, oneOf, allOf and $ref
// within the schema. What was made is judged by
// the whole schema. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <pillion/json.hpp>

namespace pillion::load {

// One line of JSON. The same schema and seed give always the same value; `seed` moves on. nullopt
// where the schema asks for what cannot be made up: a pattern, a $ref elsewhere, no end of nesting,
// more than 4 MiB, or what the validator does not take; then `fault`, where given, says why.
std::optional<std::string> sample_value(json::view schema, std::uint64_t& seed,
                                        std::string* fault = nullptr);

}  // namespace pillion::load
