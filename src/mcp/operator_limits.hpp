// operator_limits: what a configuration says of single tools, put into their definitions. Thread:
// the one that registers or updates.
#pragma once

#include <string>
#include <vector>

#include "mcp/definitions.hpp"

namespace pillion::mcp {

// Lets the limits of `to.operators` win over those of the tools' own definitions, once for each
// definition, so that an update does it for those it adds. What cannot be meant (no such tool, a
// queue without places to wait for) is told in `warnings`, a line each. REQUIRES: nobody calls the
// tools yet that are new.
void apply_operator_limits(detail::definitions& to, std::vector<std::string>& warnings);

}  // namespace pillion::mcp
