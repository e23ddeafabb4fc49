// tool_settings: the tools that the configuration makes, and the upstreams they ask, from the
// values of its keys. All that can be checked without the server is checked here.
//
// Thread: the one that makes the settings.
#pragma once

#include "app/key_reader.hpp"

namespace pillion::app {

// Whether the tool of that name is made here: it has a command or a request.
bool makes_tool(const named_values& tool);

// Makes to.made_tools; what is good is there beside the faults.
void read_tools(key_reader& from, settings& to);

}  // namespace pillion::app
