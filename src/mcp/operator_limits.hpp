// operator_limits: what a configuration says of single tools, put into their definitions. Thread:
// the one that registers or updates.
#pragma once

#include <string>
#include <vector>

#include "mcp/definitions.hpp"

namespace pillion::mcp {

// Lets what `to.operators` says (limits, effects, icons) win over the tools' own definitions, once
// for each definition, so that an update does it for those it adds. What cannot be meant (no such
// tool, a queue without places to wait for) is told in `warnings`, a line each. REQUIRES: nobody
// calls the tools yet that are new.
void apply_operator_limits(detail::definitions& to, std::vector<std::string>& warnings);

// The same of the icons of prompts, resources and templates. Only what is rendered is changed,
// which nobody reads but the thread that registers.
void apply_operator_icons(detail::definitions& to, std::vector<std::string>& warnings);

}  // namespace pillion::mcp
