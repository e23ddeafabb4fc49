// server_state: what a pillion::server holds. Thread: the registering one before main(); while it
// runs only `running` is touched by others, under its mutex, and the definitions by update().
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <pillion/server.hpp>

#include "app/folder_setting.hpp"
#include "base/limits.hpp"
#include "base/unique_function.hpp"
#include "mcp/definitions.hpp"
#include "mcp/registration_faults.hpp"
#include "mcp/service.hpp"
#include "sidecar/bridge_resources.hpp"

namespace pillion::app {
class test_host;
}

namespace pillion::detail {

// A flag that the user added to the command line.
struct own_option {
    std::string name;
    std::string help;
    std::string* text = nullptr;  // "--name VALUE"
    bool* on = nullptr;           // "--name"
};

struct server_state {
    definitions defs;
    std::vector<own_option> options;
    std::vector<std::function<result<void>(server&)>> hooks;  // emptied when they have run
    std::vector<mcp::ready_check> checks;
    mcp::registration_faults faults;           // of what hooks could not register, beside their own
    bool tls = false;                          // addresses of TCP speak https…
    bool certificates = false;                 // … and clients show who they are there
    bool principals = false;                   // … of whom some are listed
    bool tokens = false;                       // or by a token, everywhere
    bool api_keys = false;                     // … or by a key
    bool metrics_users = false;                // /metrics asks for passwords
    bool proxies = false;                      // some are believed what they say of clients
    std::vector<app::folder_setting> folders;  // that the configuration wants offered
    // Null: no servers behind this one.
    std::shared_ptr<sidecar::bridge_resources> bridged;
    std::weak_ptr<app::test_host> tested;  // while test clients are connected

    std::mutex update_mutex;          // one update at a time
    std::mutex mutex;                 // guards the two below
    mcp::service* running = nullptr;  // while shards are up
    std::function<void()> stop;       // begins the shutdown

    void publish(mcp::change what, std::string_view uri = {});
};

}  // namespace pillion::detail
