// cli: the command line of every server built with the library.
//
// Exit codes: 0 ended as asked, 1 run-time failure, 2 usage or configuration. Faults are one line
// on stderr.
#pragma once

#include <pillion/server.hpp>

namespace pillion::app {

inline constexpr int exit_usage = 2;

// Reads the command line, runs the start hooks, freezes the definitions and runs the command.
int run_command(server& s, int argc, char** argv);

}  // namespace pillion::app
