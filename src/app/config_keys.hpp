// config_keys: the table of everything that can be configured. The reader of the file, its JSON
// Schema and the command line are all made from it, so that they cannot disagree.
//
// Thread-safety: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/server_state.hpp"

namespace pillion::app {

// The keys every server has, in the order of the table; the server's own options follow.
enum class key_id : std::uint8_t {
    host,
    port,
    listen,
    path,
    allowed_origins,
    allowed_hosts,
    unix_users,
    unix_groups,
    insecure_no_auth,
    legacy_sse,
    tls_cert,
    tls_key,
    tls_client_ca,
    auth_issuer,
    auth_jwks,
    auth_audience,
    auth_tokens,
    auth_scopes,
    external_url,
    insecure_plain_tokens,
    threads,
    io,
    drain_timeout,
    state_keys,
    log_level,
    log_format,
    request_timeout,
    session_ttl,
    connections,
    sessions,
    body,
    head_timeout,
    body_timeout,
    idle_timeout,
    keepalive,
    batch,
    in_flight,
    tasks,
    tasks_per_owner,
    task_bytes,
    metrics_listen,
    profile,
    strict_e_codes,
    request_timeout_max,
    timeout_header,
    task_timeout,
    grace,
    stragglers,
    result,
    kept_results,
    kept_result_ttl,
    request_memory,
    head_bytes,
    header_count,
    target_bytes,
    json_depth,
    json_nodes,
    output_high,
    output_low,
    output_hard,
    session_events,
    session_event_bytes,
    session_streams,
    session_subscriptions,
    connections_per_address,
    in_flight_per_address,
    in_flight_per_principal,
    requests,
    loop_lag,
    head_rate,
    body_rate,
    reader_stall,
    principal_rate,
    principal_burst,
    address_rate,
    address_burst,
    handshake_rate,
    handshake_burst,
    auth_api_keys,
    insecure_hs256,
    trusted_proxies,
    metrics_users,
    core_dumps,
    auth_ca,
    introspection,
    introspection_client,
    introspection_secret,
    introspection_ttl,
    mcp_config,
    bridge_prefix,
    prompt_folders,
    ready_follow,
    ready_interval,
    own_options,  // how many there are above
};

enum class value_type : std::uint8_t {
    text,
    text_list,      // in the file also a single text
    boolean,        // a flag without a value; one that begins with --no- means false
    count,          // an integer
    count_or_auto,  // … or the word
    duration,       // "500ms", "30s", "5m", "2h"
    bytes,          // an integer, or "512B", "64KiB", "1MiB", "1GiB"
    choice,         // one of some words
    secret,         // text, or "file:PATH"; the flag names the file
    // In the file only:
    text_map,  // names to texts, which are never shown; numbers count as they are written
    json,      // any mapping, as JSON: nothing in it is a variable
    section,   // a mapping of keys of its own
    sections,  // a list of such mappings, or one
};

struct config_key;
using config_table = std::vector<config_key>;

struct config_key {
    std::string section;
    std::string name;
    std::string flag{};      // empty: none
    std::string variable{};  // of the environment: names the file of a secret; empty: none
    value_type type = value_type::text;
    std::string fallback{};  // the default as it would be written; empty: none
    // Integers and sizes: the range. Durations: min 0 allows zero. Texts: the least length.
    std::int64_t min = 0;
    std::int64_t max = 0;
    std::vector<std::string> words{};  // choice
    std::string pattern{};             // texts: an ECMA 262 expression; what is_valid says is more
    bool (*is_valid)(std::string_view) = nullptr;  // texts, each of a list
    std::string expected{};                        // texts: what is_valid wants, in words
    std::string help{};
    bool live = false;       // SIGHUP changes it
    bool http_only = false;  // no flag of the stdio command
    detail::own_option* own = nullptr;
    // section, sections: its keys; `path` is what faults call it.
    config_table (*inside)(const std::string& path) = nullptr;

    std::string path() const { return section + "." + name; }
    bool negated() const noexcept { return own == nullptr && flag.starts_with("--no-"); }
};

// All keys; those of the server's own options are in the section "options", with _ for -.
// `otherwise`: the profile where none is configured.
config_table make_config_table(std::vector<detail::own_option>& own, server_profile otherwise);

// Of servers that are asked about tokens (config_keys_remote.cpp), at the end of the table.
void add_remote_auth(config_table& to);
// Of MCP servers behind this one (config_keys_tools.cpp), behind those.
void add_bridge(config_table& to);

// The sections whose keys are names. Of most of these things scopes, perhaps with icons, are all
// that can be said, for the others see config_keys_tools.hpp.
inline constexpr const char* named_sections[] = {"tools",   "prompts",    "resources",
                                                 "methods", "principals", "upstreams",
                                                 "servers", "openapi",    "folders"};
// Live, unlike the others.
inline constexpr std::string_view principals_section = "principals";
inline constexpr std::string_view upstreams_section = "upstreams";
inline constexpr std::string_view servers_section = "servers";
inline constexpr std::string_view openapi_section = "openapi";
inline constexpr std::string_view folders_section = "folders";
// Whether things in this section are made elsewhere, so that what is said here comes on top.
constexpr bool is_about_others(std::string_view section) {
    return section != upstreams_section && section != servers_section &&
           section != openapi_section && section != folders_section;
}
// `section` is what faults call these keys: "tools.NAME".
config_table make_named_table(const std::string& kind, const std::string& section);

// What a value must be, for messages: "a number from 1 to 256".
std::string expected_of(const config_key& key);

}  // namespace pillion::app
