// bridge_spec: an MCP server behind us, as the configuration says it. Plain data, in plain units.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/url.hpp"

namespace pillion::sidecar {

// How an MCP server behind a URL is spoken to.
enum class bridge_transport : std::uint8_t {
    automatic,  // Streamable HTTP, or HTTP+SSE where it knows nothing else
    streamable,
    sse,
};

struct bridge_spec {
    std::string name;
    // A program that speaks MCP over its standard input and output. Empty: it is behind a URL.
    std::vector<std::string> argv;
    std::string folder;  // to work in; empty: ours
    std::vector<std::pair<std::string, std::string>> environment;
    std::vector<std::string> passed;  // names of our own variables that it sees as well

    // Behind a URL.
    client::url where;
    bridge_transport transport = bridge_transport::automatic;
    std::string socket;  // of a unix socket to connect to instead; empty: none
    std::vector<std::pair<std::string, std::string>> headers;  // of each request
    std::shared_ptr<const std::string> authorities;            // to believe (PEM)

    // Stands before the names of its tools and prompts.
    std::string prefix;
    // Its own names of tools and prompts: those that are offered (empty: all), those that are not,
    // and what they are called instead, prefix included.
    std::vector<std::string> allow;
    std::vector<std::string> deny;
    std::map<std::string, std::string> rename;

    // Each client has one of its own; so many at most, each for so long after its last call.
    bool per_client = false;
    std::size_t clients_max = 32;
    std::int64_t client_idle_ms = 5 * 60'000;

    std::int64_t start_timeout_ms = 20'000;  // until its lists are known
    std::int64_t restart_min_ms = 500;       // doubled with each failure in a row…
    std::int64_t restart_max_ms = 60'000;    // … up to this
    std::int64_t ping_interval_ms = 30'000;  // while no call is under way; 0: never
    std::int64_t ping_timeout_ms = 10'000;
    std::size_t message_bytes_max = 16 * 1024 * 1024;
    std::uint64_t fingerprint = 0;  // the same means nothing has changed
};

}  // namespace pillion::sidecar
