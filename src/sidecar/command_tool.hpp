// command_tool: a tool that runs a program (command_spec.hpp).
#pragma once

#include <functional>
#include <string>

#include <pillion/server.hpp>

#include "sidecar/command_spec.hpp"

namespace pillion::sidecar {

// Whether it can be run as far as the configuration tells. False with a fault in words.
bool check(const command_spec& what, std::string& fault);

std::function<task<tool_result>(context&, json::view)> command_handler(command_spec what);

}  // namespace pillion::sidecar
