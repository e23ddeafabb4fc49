// token_command: `pillion token`: makes keys, a key set, signed tokens and opaque ones, so that
// every way in can be tried without an authorization server. Keys and tokens made here are for
// development; opaque tokens are as good as any.
//
// What a script needs stands alone on stdout, what a person should know on stderr. Secrets are read
// from files and stdin, never from the command line. Thread: the one of the command line.
#pragma once

#include <string>
#include <vector>

namespace pillion::app {

// Runs the command whose words are `arguments`, for a program of that name; the exit code.
int run_token(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace pillion::app
