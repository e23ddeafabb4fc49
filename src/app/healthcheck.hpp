// healthcheck: the command that asks a running server whether it is healthy, for containers and
// other watchers. Where nothing is said it asks the server that the same options, environment and
// configuration file would start.
//
// Exit codes: 0 it is, 1 it is not or nobody can tell (2 is reserved by container runtimes).
// Thread: the main one, with an event loop of its own for one request.
#pragma once

#include <string>
#include <vector>

#include "app/reloader.hpp"

namespace CLI {
class App;
}

namespace pillion::app {

// What the command line says besides the server's options.
struct probe_words {
    std::string url;  // http://…, https://… or unix:/path; empty: the server's own address
    std::string timeout = "2s";
    std::string authorities;  // file (PEM)
    std::string server_name;
    bool ready = false;
};

void add_probe_flags(CLI::App& cli, probe_words& to);

// `start` holds the flags of the server and the name of its file.
int run_healthcheck(const std::string& program, const probe_words& words, configuration start,
                    config_faults faults);

}  // namespace pillion::app
