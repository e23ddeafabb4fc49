// child_link: the pipes of a program that speaks MCP over its standard input and output, a message
// a line. What it writes to stderr goes to the log, and its last lines into what is said of its
// end.
//
// Thread: its loop's.
#pragma once

#include <memory>

#include "io/reactor.hpp"
#include "sidecar/bridge_spec.hpp"
#include "sidecar/server_link.hpp"

namespace pillion::sidecar {

std::unique_ptr<server_link> link_to_child(io::reactor& loop, const bridge_spec& what);

}  // namespace pillion::sidecar
