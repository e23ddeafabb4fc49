// tool_maker: tools of the configuration, checked and registered.
//
// Thread: whoever registers (include/pillion/server.hpp).
#pragma once

#include <string>

#include <pillion/server.hpp>

#include "sidecar/tool_spec.hpp"

namespace pillion::sidecar {

// Whether a tool can be made of it, but for its name. False with a fault in words that names the
// key.
bool check(const tool_spec& what, std::string& fault);

// Registers it. REQUIRES: check().
void add_tool(tool_builder to, const tool_spec& what);

}  // namespace pillion::sidecar
