// config_keys_tools: the keys of tools and of the services they ask, in the order of their tables.
//
// Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <string>

#include "app/config_keys.hpp"

namespace pillion::app {

// What the operator says of one tool; with `command` or `http` the tool is made here.
enum class tool_key : std::uint8_t {
    timeout,
    concurrent,
    queue,
    rate,
    rate_burst,
    scopes,
    icons,
    risk,
    side_effects,
    external,
    title,  // from here on of tools that are made here
    description,
    input,
    output,
    read_only,
    destructive,
    idempotent,
    open_world,
    deprecated,
    instead,
    command,
    http,
};
config_table make_tool_table(const std::string& section);

enum class external_key : std::uint8_t { idempotency, retries, timeout, audit, approval };
config_table make_external_table(const std::string& section);

// A picture of whatever has the key `icons`.
enum class icon_key : std::uint8_t { src, mime_type, sizes, theme };
config_table make_icon_table(const std::string& section);
config_key icons_key(const std::string& section);

// Of prompts and resources, whose keys are their scopes and this one.
enum class shown_key : std::uint8_t { scopes, icons };

enum class command_key : std::uint8_t {
    argv,
    input,
    output,
    folder,
    env,
    pass_env,
    dashes,
    errors,
    output_bytes,
    stderr_bytes,
    kill_after,
    cpu_time,
    memory,
    file_size,
    open_files,
};
config_table make_command_table(const std::string& section);

enum class http_key : std::uint8_t {
    upstream,
    method,
    path,
    query,
    headers,
    send,
    body,
    content_type,
    output,
    pointer,
    errors,
};
config_table make_http_table(const std::string& section);

enum class upstream_key : std::uint8_t {
    url,
    socket,
    ca,
    headers,
    connections,
    answer,
    answer_timeout,
    retries,
    hedge,
    failures,
    open_time,
};
config_table make_upstream_table(const std::string& section);

// An MCP server behind this one. Those of client files ("mcpServers") are called the same.
enum class server_key : std::uint8_t {
    command,
    args,
    env,
    pass_env,
    cwd,
    url,
    transport,
    socket,
    ca,
    headers,
    prefix,
    allow,
    deny,
    rename,
    per_client,
    clients_max,
    client_idle,
    start_timeout,
    ping,
    message,
    restart_min,
    restart_max,
};
config_table make_server_table(const std::string& section);

// A description whose operations become tools.
enum class openapi_key : std::uint8_t {
    file,
    url,
    upstream,
    include,
    exclude,
    rename,
    prefix,
    most,
    icons,
};
config_table make_openapi_table(const std::string& section);

// A directory whose files are resources.
enum class folder_key : std::uint8_t {
    path,
    uri,
    title,
    description,
    include,
    exclude,
    hidden,
    scopes,
    icons,
};
config_table make_folder_table(const std::string& section);

}  // namespace pillion::app
