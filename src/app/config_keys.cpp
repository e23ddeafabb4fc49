#include "app/config_keys.hpp"

#include <algorithm>

#include "app/config_keys_access.hpp"
#include "app/config_keys_tools.hpp"
#include "base/assert.hpp"
#include "base/limits.hpp"
#include "http/origin.hpp"
#include "io/socket.hpp"
#include "io/unix_peer.hpp"

namespace pillion::app {

namespace {

constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;
constexpr std::int64_t gib = 1024 * mib;

bool is_endpoint_path(std::string_view text) {
    return text.starts_with('/') && text.find_first_of(" ?#") == text.npos;
}

bool is_user(std::string_view text) { return io::find_user(text).has_value(); }
bool is_group(std::string_view text) { return io::find_group(text).has_value(); }

bool is_listen_spec(std::string_view text) {
    return static_cast<bool>(io::parse_listen_spec(text));
}

std::string time_text(std::int64_t ms) {
    const std::int64_t s = ms / 1000;
    return s >= 3600 && s % 3600 == 0 ? std::to_string(s / 3600) + "h"
           : s >= 120 && s % 60 == 0  ? std::to_string(s / 60) + "m"
                                      : std::to_string(s) + "s";
}
std::string text_of(std::size_t n) { return std::to_string(n); }

std::string size_text(std::int64_t n) {
    return n >= gib && n % gib == 0   ? std::to_string(n / gib) + "GiB"
           : n >= mib && n % mib == 0 ? std::to_string(n / mib) + "MiB"
           : n >= kib                 ? std::to_string(n / kib) + "KiB"
                                      : std::to_string(n) + "B";
}

void add_listeners(config_table& to) {
    to.push_back({.section = "http",
                  .name = "host",
                  .flag = "--host",
                  .fallback = "127.0.0.1",
                  .min = 1,
                  .help = "Address to listen on",
                  .http_only = true});
    to.push_back({.section = "http",
                  .name = "port",
                  .flag = "--port",
                  .type = value_type::count,
                  .fallback = "8080",
                  .max = 65535,
                  .help = "TCP port; 0 picks a free one",
                  .http_only = true});
    to.push_back({.section = "http",
                  .name = "listen",
                  .flag = "--listen",
                  .type = value_type::text_list,
                  .min = 1,
                  .is_valid = is_listen_spec,
                  .expected = "[http[s]://]host:port, unix:/path or fd:N",
                  .help = "[http[s]://]host:port, unix:/path or fd:N instead of host and port; "
                          "repeatable",
                  .http_only = true});
    to.push_back({.section = "http",
                  .name = "path",
                  .flag = "--path",
                  .fallback = "/mcp",
                  .min = 1,
                  .pattern = "^/[^ ?#]*$",
                  .is_valid = is_endpoint_path,
                  .expected = "a path that begins with / and holds no blank, ? or #",
                  .help = "Path of the MCP endpoint",
                  .http_only = true});
}

// Who may call, and from where.
void add_callers(config_table& to) {
    to.push_back({.section = "http",
                  .name = "allowed_origins",
                  .flag = "--allowed-origins",
                  .type = value_type::text_list,
                  .min = 1,
                  .is_valid = http::is_valid_origin_entry,
                  .expected = "an origin (scheme://host[:port], null or *)",
                  .help = "Origins of web pages that may call (scheme://host[:port], null or *)",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "http",
                  .name = "allowed_hosts",
                  .flag = "--allowed-hosts",
                  .type = value_type::text_list,
                  .min = 1,
                  .is_valid = http::is_valid_host_entry,
                  .expected = "a name or address with an optional port (host[:port])",
                  .help = "Further names that Host may carry (host[:port])",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "http",
                  .name = "unix_users",
                  .flag = "--unix-users",
                  .type = value_type::text_list,
                  .min = 1,
                  .is_valid = is_user,
                  .expected = "a user of this machine, by name or number",
                  .help = "Further users that unix sockets serve, by name or number",
                  .http_only = true});
    to.push_back({.section = "http",
                  .name = "unix_groups",
                  .flag = "--unix-groups",
                  .type = value_type::text_list,
                  .min = 1,
                  .is_valid = is_group,
                  .expected = "a group of this machine, by name or number",
                  .help = "Groups whose users unix sockets serve, by name or number",
                  .http_only = true});
    to.push_back({.section = "http",
                  .name = "insecure_no_auth",
                  .flag = "--insecure-no-auth",
                  .type = value_type::boolean,
                  .fallback = "false",
                  .help = "Serve other machines although nothing authenticates them",
                  .http_only = true});
    to.push_back({.section = "http",
                  .name = "legacy_sse",
                  .flag = "--no-legacy-sse",
                  .type = value_type::boolean,
                  .fallback = "true",
                  .help = "the HTTP+SSE transport of 2024-11-05 (/sse and /messages)",
                  .live = true,
                  .http_only = true});
}

void add_server(config_table& to) {
    to.push_back({.section = "server",
                  .name = "threads",
                  .flag = "--threads",
                  .type = value_type::count_or_auto,
                  .fallback = "1",
                  .min = 1,
                  .max = 256,
                  .help = "Event loops, one thread each: a number or auto",
                  .http_only = true});
    to.push_back({.section = "server",
                  .name = "io",
                  .flag = "--io",
                  .type = value_type::choice,
                  .fallback = "auto",
                  .words = {"auto", "uring", "epoll"},
                  .help = "Event loop: auto, uring or epoll"});
    to.push_back({.section = "server",
                  .name = "drain_timeout",
                  .flag = "--drain-timeout",
                  .type = value_type::duration,
                  .fallback = time_text(limits::drain_timeout_ms),
                  .help = "How long a shutdown waits for what is in flight",
                  .live = true});
    to.push_back({.section = "server",
                  .name = "state_keys",
                  .flag = "--state-keys",
                  .variable = "PILLION_STATE_KEYS_FILE",
                  .type = value_type::secret,
                  .min = 1,
                  .help = "keys that seal what clients carry between calls (see README)",
                  .live = true});
    to.push_back({.section = "log",
                  .name = "level",
                  .flag = "--log-level",
                  .type = value_type::choice,
                  .fallback = "info",
                  .words = {"debug", "info", "warn", "error", "off"},
                  .help = "debug, info, warn, error or off",
                  .live = true});
    to.push_back({.section = "log",
                  .name = "format",
                  .flag = "--log-format",
                  .type = value_type::choice,
                  .fallback = "text",
                  .words = {"text", "json"},
                  .help = "text or json (always on stderr)",
                  .live = true});
}

void add_time_limit(config_table& to, const char* name, std::int64_t ms, const char* help,
                    bool http_only, const char* flag = "") {
    to.push_back({.section = "limits",
                  .name = name,
                  .flag = flag,
                  .type = value_type::duration,
                  .fallback = time_text(ms),
                  .min = 1,
                  .help = help,
                  .live = true,
                  .http_only = http_only});
}

void add_count_limit(config_table& to, const char* name, std::size_t fallback, std::int64_t max,
                     const char* help, bool live, const char* flag = "") {
    to.push_back({.section = "limits",
                  .name = name,
                  .flag = flag,
                  .type = value_type::count,
                  .fallback = text_of(fallback),
                  .min = 1,
                  .max = max,
                  .help = help,
                  .live = live,
                  .http_only = *flag != '\0'});
}

void add_size_limit(config_table& to, const char* name, std::size_t fallback, std::int64_t min,
                    std::int64_t max, const char* help, bool live) {
    to.push_back({.section = "limits",
                  .name = name,
                  .type = value_type::bytes,
                  .fallback = size_text(static_cast<std::int64_t>(fallback)),
                  .min = min,
                  .max = max,
                  .help = help,
                  .live = live});
}

void add_limits(config_table& to) {
    constexpr std::int64_t many = 1'000'000;
    add_time_limit(to, "request_timeout", limits::request_timeout_ms,
                   "Longest time a request may take (500ms, 30s, 5m)", false, "--request-timeout");
    add_time_limit(to, "session_ttl", limits::session_idle_ms, "Idle sessions end after this time",
                   true, "--session-ttl");
    add_count_limit(to, "connections", limits::connections_max, many, "Connections per thread",
                    true, "--max-connections");
    add_count_limit(to, "sessions", limits::sessions_max, many, "Sessions at a time", false);
    add_size_limit(to, "body", limits::body_bytes_max, kib, gib,
                   "Bytes of a request body, or of one line of stdio", true);
    add_time_limit(to, "head_timeout", limits::head_timeout_ms, "Time for the head of a request",
                   true);
    add_time_limit(to, "body_timeout", limits::body_timeout_ms, "Time for the body of a request",
                   true);
    add_time_limit(to, "idle_timeout", limits::idle_timeout_ms,
                   "Time between two requests of a connection", true);
    add_time_limit(to, "keepalive", limits::sse_keepalive_ms,
                   "Pause after which a quiet event stream gets a comment", true);
    add_count_limit(to, "batch", limits::batch_messages_max, 10'000, "Messages in one batch", true);
    add_count_limit(to, "in_flight", limits::in_flight_per_connection_max, many,
                    "Requests under way on one pipe, beyond which reading pauses, and "
                    "subscriptions open on it",
                    true);
    add_count_limit(to, "tasks", limits::tasks_max, many, "Tasks that are kept", false);
    add_count_limit(to, "tasks_per_owner", limits::tasks_per_owner_max, many,
                    "Tasks that are kept for one client", false);
    add_size_limit(to, "task_bytes", limits::task_bytes_max, mib, 64 * gib,
                   "Memory of the results of all tasks", false);
}

void add_metrics(config_table& to) {
    to.push_back({.section = "metrics",
                  .name = "listen",
                  .flag = "--metrics-listen",
                  .min = 1,
                  .is_valid = is_listen_spec,
                  .expected = "host:port, unix:/path or fd:N",
                  .help = "host:port, unix:/path or fd:N that serves /metrics",
                  .http_only = true});
}

void add_profile(config_table& to, server_profile otherwise) {
    to.push_back({.section = "server",
                  .name = "profile",
                  .flag = "--profile",
                  .type = value_type::choice,
                  .fallback = otherwise == server_profile::corporate ? "corporate" : "generic",
                  .words = {"generic", "corporate"},
                  .help = "What the server holds itself to: generic or corporate (see README)"});
    to.push_back({.section = "server",
                  .name = "strict_e_codes",
                  .type = value_type::boolean,
                  .fallback = "false",
                  .help = "Rate limits are -32603 instead of -32003 for clients of 2026-07-28",
                  .live = true});
}

void add_deadlines(config_table& to) {
    add_time_limit(to, "request_timeout_max", limits::request_timeout_ms_max,
                   "Longest time of any request, whatever its tool says and however it progresses",
                   false);
    to.push_back({.section = "http",
                  .name = "timeout_header",
                  .type = value_type::boolean,
                  .fallback = "false",
                  .help = "Clients may shorten a deadline by X-Request-Timeout-Ms",
                  .live = true,
                  .http_only = true});
    add_time_limit(to, "task_timeout", limits::task_ttl_ms_max,
                   "Longest time the work of a task may take, whatever its tool says", false);
    add_time_limit(to, "grace", limits::grace_ms,
                   "Time a handler has to end when it was stopped, before it is a straggler",
                   false);
    add_count_limit(to, "stragglers", limits::stragglers_max, 1'000'000,
                    "Stragglers of one handler, per thread; beyond it its calls are refused", true);
}

void add_results(config_table& to) {
    add_size_limit(to, "result", limits::result_bytes_max, 16 * kib, gib,
                   "Bytes of a result; one of a tool is cut beyond, others are refused", true);
    add_size_limit(to, "kept_results", limits::kept_result_bytes_max, kib, 64 * gib,
                   "Memory of results that were cut and are kept whole", false);
    add_time_limit(to, "kept_result_ttl", limits::kept_result_ms,
                   "How long a result that was cut is kept whole", false);
    add_size_limit(to, "request_memory", limits::request_memory_bytes_max, mib, 4 * gib - mib,
                   "Memory that one request may hold: its input, its results", true);
}

void add_size(config_table& to, const char* name, std::size_t fallback, std::size_t min,
              std::size_t max, const char* help, bool live = true) {
    add_size_limit(to, name, fallback, static_cast<std::int64_t>(min),
                   static_cast<std::int64_t>(max), help, live);
}

// A count that may be 0: no limit.
void add_open_count(config_table& to, const char* section, const char* name,
                    const std::string& fallback, const char* help) {
    constexpr std::int64_t many = 1'000'000;
    to.push_back({.section = section,
                  .name = name,
                  .type = value_type::count,
                  .fallback = fallback,
                  .max = many,
                  .help = help,
                  .live = true});
}

// What was constant once: of messages, streams and sessions.
void add_message_limits(config_table& to) {
    constexpr std::int64_t many = 1'000'000;
    add_size(to, "head", limits::head_bytes_max, kib, limits::head_bytes_most,
             "Bytes of the head of a request");
    add_count_limit(to, "headers", limits::headers_max, limits::headers_most,
                    "Fields of the head of a request", true);
    add_size(to, "uri", limits::target_bytes_max, kib / 4, limits::head_bytes_most,
             "Bytes of a request target");
    add_count_limit(to, "json_depth", limits::json_depth_max, limits::json_depth_max,
                    "Nesting of a message", true);
    add_count_limit(to, "json_nodes", limits::json_nodes_max, 64 * mib,
                    "Values and names in a message", true);
    add_size(to, "output_high", limits::out_queue_bytes_high, kib, gib,
             "Unread bytes of a peer from which on its writer waits");
    add_size(to, "output_low", limits::out_queue_bytes_low, kib, gib,
             "Unread bytes of a peer below which its writer goes on");
    add_size(to, "output_hard", limits::out_queue_bytes_hard, kib, 4 * gib,
             "Unread bytes of a connection from which on it is cut");
    add_count_limit(to, "session_events", limits::session_events_max, many,
                    "Events a session keeps for clients that come back", true);
    add_size(to, "session_event_bytes", limits::session_event_bytes_max, kib, gib,
             "Bytes of these events");
    add_count_limit(to, "session_streams", limits::session_streams_max, 10'000,
                    "Event streams of a session", true);
    add_count_limit(to, "session_subscriptions", limits::session_subscriptions_max, many,
                    "Resources a session, or a stream of 2026-07-28, is subscribed to", true);
}

// Of callers and of load.
void add_caller_limits(config_table& to) {
    constexpr std::int64_t many = 1'000'000;
    constexpr const char* section = "limits";
    add_open_count(to, section, "connections_per_address",
                   text_of(limits::connections_per_address_max),
                   "Connections of one address; 0: any number");
    add_open_count(to, section, "in_flight_per_address", text_of(limits::in_flight_per_address_max),
                   "Requests under way of one anonymous address; 0: any number");
    add_open_count(to, section, "in_flight_per_principal",
                   text_of(limits::in_flight_per_principal_max),
                   "Requests under way of one principal; 0: any number");
    add_count_limit(to, "requests", limits::requests_max, many,
                    "Requests under way per thread; beyond it they are shed", true);
    to.push_back({.section = section,
                  .name = "loop_lag",
                  .type = value_type::duration,
                  .fallback = time_text(limits::loop_lag_ms),
                  .help = "Turns of a loop that take longer shed requests; 0s: never",
                  .live = true});
    add_open_count(to, section, "head_rate", text_of(limits::head_rate_min),
                   "Bytes a second at which a head has to come; 0: any");
    add_open_count(to, section, "body_rate", text_of(limits::body_rate_min),
                   "Bytes a second at which a body has to come; 0: any");
    add_time_limit(to, "reader_stall", limits::reader_stall_ms,
                   "An event stream of which nothing is read this long is cut", false);
}

// Without a burst of its own a rate allows what two seconds give.
void add_rates(config_table& to) {
    const auto add = [&to](const char* name, std::int64_t rate, const char* burst,
                           const char* what) {
        add_open_count(to, "rates", name, text_of(static_cast<std::size_t>(rate)), what);
        add_open_count(to, "rates", burst, "", "The same at once; 0: twice the rate");
    };
    add("principal", limits::principal_rate, "principal_burst",
        "Requests a second of one principal; 0: any number");
    add("address", limits::address_rate, "address_burst",
        "Requests a second of one anonymous address; 0: any number");
    add("handshakes", limits::handshake_rate, "handshakes_burst",
        "Anonymous handshakes a second of one address; 0: any number");
}

}  // namespace

config_table make_named_table(const std::string& kind, const std::string& section) {
    return kind == "tools"       ? make_tool_table(section)
           : kind == "upstreams" ? make_upstream_table(section)
           : kind == "servers"   ? make_server_table(section)
           : kind == "openapi"   ? make_openapi_table(section)
           : kind == "folders"   ? make_folder_table(section)
           : kind == "prompts" || kind == "resources"
               ? config_table{scopes_key(section), icons_key(section)}
               : config_table{scopes_key(section)};
}

config_table make_config_table(std::vector<detail::own_option>& own, server_profile otherwise) {
    config_table all;
    all.reserve(static_cast<std::size_t>(key_id::own_options) + own.size());
    add_listeners(all);
    add_callers(all);
    add_tls(all);
    add_auth(all);
    add_server(all);
    add_limits(all);
    add_metrics(all);
    add_profile(all, otherwise);
    add_deadlines(all);
    add_results(all);
    add_message_limits(all);
    add_caller_limits(all);
    add_rates(all);
    add_guards(all);
    add_remote_auth(all);
    add_bridge(all);
    // One that waits must not keep its pipe from ever being read again.
    all[static_cast<std::size_t>(key_id::in_flight)].min = 2;
    PILLION_ASSERT(all.size() == static_cast<std::size_t>(key_id::own_options));
    for (detail::own_option& o : own) {
        config_key key;
        key.section = "options";
        key.name = o.name;
        std::replace(key.name.begin(), key.name.end(), '-', '_');
        key.flag = "--" + o.name;
        key.type = o.on != nullptr ? value_type::boolean : value_type::text;
        key.fallback = o.on == nullptr ? *o.text : *o.on ? "true" : "false";
        key.help = o.help;
        key.own = &o;
        all.push_back(std::move(key));
    }
    return all;
}

std::string expected_of(const config_key& key) {
    std::string all;
    switch (key.type) {
        case value_type::boolean:
            return "true or false";
        case value_type::duration:
            return key.min > 0 ? "a duration such as 500ms, 30s, 5m or 2h, and not 0"
                               : "a duration such as 500ms, 30s, 5m or 2h";
        case value_type::bytes:
            return "a size from " + size_text(key.min) + " to " + size_text(key.max) +
                   ", such as 512KiB or 1MiB";
        case value_type::count:
        case value_type::count_or_auto:
            return "a number from " + std::to_string(key.min) + " to " + std::to_string(key.max) +
                   (key.type == value_type::count ? "" : ", or auto");
        case value_type::choice:
            for (std::size_t i = 0; i < key.words.size(); ++i) {
                all += i == 0 ? "" : i + 1 == key.words.size() ? " or " : ", ";
                all += key.words[i];
            }
            return all;
        case value_type::text_map:
            return "a mapping of names to texts";
        case value_type::json:
        case value_type::section:
            return "a mapping";
        case value_type::sections:
            return "a list of mappings";
        default:
            return !key.expected.empty() ? key.expected
                   : key.min > 0         ? "a text, not empty"
                                         : "a text";
    }
}

}  // namespace pillion::app
