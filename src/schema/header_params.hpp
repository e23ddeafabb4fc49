// header_params: tool arguments that clients of 2026-07-28 mirror in request headers
// ("x-mcp-header" in the input schema).
//
// Thread-safety: for start-up; allocates freely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <pillion/json.hpp>

namespace pillion::schema_check {

enum class header_type : std::uint8_t { string, integer, boolean };

struct header_param {
    std::string suffix;             // of "Mcp-Param-<suffix>", as annotated
    std::string header_name;        // "mcp-param-<suffix>" in lower case
    std::vector<std::string> path;  // property names from the root of the arguments
    header_type type = header_type::string;
};

// Appends the annotated properties of a tool's input schema in document order. False with `fault`
// set ("#/properties/x: …") when an annotation breaks the rules: its value is a token (RFC 9110
// §5.6.2), unique in the schema without regard to case; it stands on a property of type string,
// integer or boolean (alone or with null) that is reached from the root through "properties" only.
bool collect_header_params(json::view schema, std::vector<header_param>& out, std::string& fault);

}  // namespace pillion::schema_check
