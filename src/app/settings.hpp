// settings: what the command line asks for, checked and in plain units.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "base/log.hpp"
#include "crypto/key_ring.hpp"
#include "io/backend_factory.hpp"
#include "io/socket.hpp"

namespace pillion::app {

struct settings {
    std::vector<io::listen_spec> listen;
    std::string path = "/mcp";
    std::size_t threads = 1;
    io::backend_mode io = io::backend_mode::automatic;
    std::vector<std::string> allowed_origins;
    std::vector<std::string> allowed_hosts;
    bool insecure_no_auth = false;
    std::int64_t session_ttl_ms = limits::session_idle_ms;
    std::int64_t drain_timeout_ms = limits::drain_timeout_ms;
    std::int64_t request_timeout_ms = limits::request_timeout_ms;
    std::shared_ptr<const crypto::key_ring> state_keys;  // null: random ones
    std::size_t connections_max = limits::connections_max;
    bool json_log = false;
    bool legacy_sse = true;

    settings() {}  // NOLINT(modernize-use-equals-default): no aggregate
};

}  // namespace pillion::app
