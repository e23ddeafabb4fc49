// ecma_pattern: reads regular expressions of ECMA-262 (with the flag u, as JSON Schema core §6.4
// asks) and writes them the way RE2 spells them.
//
// Lenient where people write what the flag u forbids and everybody understands: punctuation may be
// escaped anywhere ("\-"), a brace that repeats nothing is itself.
//
// Thread-safety: no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/code_set.hpp"

namespace pillion::schema_check {

// A set of characters and how many of them in a row.
struct pattern_piece {
    std::vector<code_range> ranges;  // sorted, apart from each other
    std::uint32_t least = 1;
    std::uint32_t most = 1;
};
inline constexpr std::uint32_t unlimited = UINT32_MAX;

// Patterns that weigh more are not given to RE2, which would unfold them before it looks at its
// limit of memory.
inline constexpr std::size_t pattern_weight_max = 20'000;

struct translation {
    std::string re2;
    // Characters and sets, those repeated counted as often: what RE2 would have to build.
    std::size_t weight = 0;
    bool too_large = false;  // for RE2; the text is cut then
    // A pattern that is nothing but pieces one behind the other, for which RE2 is not needed.
    bool plain = true;
    bool from_start = false;  // begins with ^
    bool to_end = false;      // ends with $
    std::vector<pattern_piece> pieces;
};

// False with `fault` set when `pattern` is malformed or uses what no linear-time engine can match:
// look-around and back-references.
bool translate_pattern(std::string_view pattern, translation& out, std::string& fault);

// Whether `pattern` is well-formed, look-around and back-references included. Takes no memory.
bool is_ecma_pattern(std::string_view pattern) noexcept;

// What RE2 calls the property `name` of "\p{name}" or "\p{type=name}" (type is empty for the
// former); empty when it has none.
std::string_view re2_property(std::string_view type, std::string_view name) noexcept;

}  // namespace pillion::schema_check
