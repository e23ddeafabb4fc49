// operator_limits: what a configuration says of single tools, put into their definitions. Thread:
// the one that registers or updates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mcp/definitions.hpp"

namespace pillion::mcp {

// Lets what `to.operators` says (limits, effects, icons) win over the tools' own definitions, of
// those that were registered after the `since`th: an update shares the others with the registry in
// use, and may be refused. What cannot be meant (no such tool, and none expected; a queue without
// places to wait for) is told in `warnings`, a line each.
void apply_operator_limits(detail::definitions& to, std::vector<std::string>& warnings,
                           std::uint32_t since = 0, const detail::expected_names& expected = {});

// The same of the icons of prompts, resources and templates.
void apply_operator_icons(detail::definitions& to, std::vector<std::string>& warnings,
                          std::uint32_t since = 0, const detail::expected_names& expected = {});

}  // namespace pillion::mcp
