// settings: what the command line and the configuration file ask for, checked and in plain units.
// Immutable once made: a reload makes new ones, and every shard takes them whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config_fault.hpp"
#include "app/config_keys.hpp"
#include "app/config_value.hpp"
#include "app/folder_setting.hpp"
#include "auth/authenticator.hpp"
#include "auth/user_list.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "crypto/key_ring.hpp"
#include "http/proxies.hpp"
#include "http/server.hpp"
#include "io/backend_factory.hpp"
#include "io/reactor.hpp"
#include "io/socket.hpp"
#include "io/unix_peer.hpp"
#include "mcp/definitions.hpp"
#include "mcp/service.hpp"
#include "sidecar/bridge_spec.hpp"
#include "sidecar/prompt_file.hpp"
#include "sidecar/tool_spec.hpp"
#include "tls/context.hpp"

namespace pillion::app {

struct settings {
    // With `scheme` as it is served: http or https.
    std::vector<io::listen_spec> listen;
    std::optional<io::listen_spec> metrics_listen;
    std::shared_ptr<const tls::server_files> tls;  // null: nobody speaks https
    std::vector<std::string> watched;              // those files, and those of tokens
    std::shared_ptr<tls::ticket_keys> tickets;
    std::shared_ptr<const auth::auth_options> access;  // null: nobody needs a token
    std::shared_ptr<auth::key_board> keys = std::make_shared<auth::key_board>();  // of issuers
    // Whom requests of ours over https believe (PEM); null: there are none.
    std::shared_ptr<const std::string> authorities;
    std::string external_url;
    bool insecure_plain_tokens = false;
    http::proxy_list trusted_proxies;
    std::shared_ptr<const auth::user_list> metrics_users;  // null: who reaches /metrics reads it
    bool core_dumps = false;
    std::string path = "/mcp";
    std::size_t threads = 1;
    io::backend_mode io = io::backend_mode::automatic;
    std::vector<std::string> allowed_origins;
    std::vector<std::string> allowed_hosts;
    io::unix_peers unix_peers;
    bool insecure_no_auth = false;
    bool legacy_sse = true;
    std::int64_t drain_timeout_ms = limits::drain_timeout_ms;
    log::level log_level = log::level::info;
    bool json_log = false;
    server_profile profile = server_profile::generic;
    bool random_state_keys = true;  // none were given
    http::server_limits http;
    io::output_marks output;
    mcp::service_options service;
    std::vector<detail::operator_limits> tools;
    std::vector<detail::operator_scopes> guards;
    std::vector<detail::operator_icons> icons;   // of prompts and resources
    std::vector<sidecar::tool_spec> made_tools;  // by the configuration
    std::vector<std::string> ready_follow;       // services beside us that must be well
    std::int64_t ready_interval_ms = 2000;
    std::vector<sidecar::bridge_spec> servers;  // MCP servers behind this one
    std::vector<sidecar::prompt_file> prompts;  // of folders
    std::uint64_t prompts_fingerprint = 0;
    std::vector<folder_setting> folders;
    std::vector<std::string> import_report;  // what came of OpenAPI descriptions

    // Whether callers must show a token or a key, unless somebody vouches for them.
    bool asks_for_tokens() const noexcept { return access != nullptr && access->any(); }

    settings() {}  // NOLINT(modernize-use-equals-default): no aggregate
};

// Flags win over the file. A --host or --port also wins over a list of addresses in the file.
config_values merged(const config_table& keys, config_values file, const config_values& flags);

// Settings from merged values. What only makes sense together is checked here, and secrets are
// read; `folder` is where relative names of secret files of the configuration begin. `serving`:
// the keys of http count. Settings are good when no fault was added. Thread-safety: any thread.
settings make_settings(const config_table& keys, const config_values& values,
                       const std::string& folder, bool serving, config_faults& faults);

// Takes over from `running` what no file says and what must outlive a reload: random keys, tasks.
void keep_fixed(settings& next, const settings& running);

// Sets level and form of the log.
void apply_log(const settings& set) noexcept;

}  // namespace pillion::app
