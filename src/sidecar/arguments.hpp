// arguments: which arguments of a call a tool of the configuration uses, held against the schema it
// says, or made into one where it says none.
//
// Thread-safety: plain functions.
#pragma once

#include <string>
#include <vector>

#include "sidecar/tool_spec.hpp"

namespace pillion::sidecar {

struct used_argument {
    std::string name;
    bool required = false;  // the tool cannot do without
    bool any_type = false;  // else something that has a plain text
};

// Each once, in the order of their first places. REQUIRES: check() of the tool.
std::vector<used_argument> used_arguments(const tool_spec& what);

// A JSON Schema that takes these and nothing else.
std::string schema_of(const std::vector<used_argument>& used);

// Whether the tool's schema has all that it uses. False with a fault that names one it has not.
bool fits_schema(const tool_spec& what, const std::vector<used_argument>& used, std::string& fault);

}  // namespace pillion::sidecar
