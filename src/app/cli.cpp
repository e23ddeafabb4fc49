#include "app/cli.hpp"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "app/prepare.hpp"
#include "app/run_http.hpp"
#include "app/run_stdio.hpp"
#include "app/server_state.hpp"
#include "app/settings.hpp"
#include "base/cpu.hpp"
#include "base/log.hpp"
#include "crypto/key_ring.hpp"
#include "http/origin.hpp"
#include "mcp/registry.hpp"

namespace pillion::app {

namespace {

constexpr int exit_usage = 2;

// The words as typed, before they are checked.
struct words {
    std::string host = "127.0.0.1";
    std::string port = "8080";
    std::vector<std::string> listen;
    std::string path = "/mcp";
    std::string threads = "1";
    std::string io = "auto";
    std::vector<std::string> origins;
    std::vector<std::string> hosts;
    bool insecure_no_auth = false;
    bool no_legacy_sse = false;
    std::string session_ttl = "30m";
    std::string drain_timeout = "10s";
    std::string request_timeout = "30s";
    std::string state_keys;
    std::size_t max_connections = limits::connections_max;
    std::string log_level = "info";
    std::string log_format = "text";
};

int usage_fault(const std::string& name, std::string_view text) {
    std::fprintf(stderr, "%s: %.*s\n", name.c_str(), static_cast<int>(text.size()), text.data());
    return exit_usage;
}

// "500ms", "30s", "5m", "2h"; nullopt when it is none of these or out of range.
std::optional<std::int64_t> parse_duration_ms(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || number < 0 || number > 1'000'000'000) {
        return std::nullopt;
    }
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (unit == "ms") {
        return number;
    }
    if (unit == "s") {
        return number * 1000;
    }
    if (unit == "m") {
        return number * 60'000;
    }
    return unit == "h" ? std::optional(number * 3'600'000) : std::nullopt;
}

void add_common(CLI::App& cli, words& w) {
    cli.add_option("--io", w.io, "Event loop: auto, uring or epoll")
        ->check(CLI::IsMember({"auto", "uring", "epoll"}))
        ->capture_default_str();
    cli.add_option("--request-timeout", w.request_timeout,
                   "Longest time a request may take (500ms, 30s, 5m)")
        ->capture_default_str();
    cli.add_option("--state-keys", w.state_keys,
                   "File of keys that seal what clients carry between calls (see README)");
    cli.add_option("--drain-timeout", w.drain_timeout,
                   "How long a shutdown waits for what is in flight")
        ->capture_default_str();
    cli.add_option("--log-level", w.log_level, "debug, info, warn, error or off")
        ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
        ->capture_default_str();
    cli.add_option("--log-format", w.log_format, "text or json (always on stderr)")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
}

void add_serving(CLI::App& cli, words& w) {
    cli.add_option("--host", w.host, "Address to listen on")->capture_default_str();
    cli.add_option("--port", w.port, "TCP port; 0 picks a free one")->capture_default_str();
    cli.add_option("--listen", w.listen,
                   "host:port, unix:/path or fd:N instead of --host and --port; repeatable");
    cli.add_option("--path", w.path, "Path of the MCP endpoint")->capture_default_str();
    cli.add_option("--threads", w.threads, "Event loops, one thread each: a number or auto")
        ->capture_default_str();
    cli.add_option("--allowed-origins", w.origins,
                   "Origins of web pages that may call (scheme://host[:port], null or *)")
        ->delimiter(',');
    cli.add_option("--allowed-hosts", w.hosts, "Further names that Host may carry")->delimiter(',');
    cli.add_flag("--insecure-no-auth", w.insecure_no_auth,
                 "Serve other machines although nothing authenticates them");
    cli.add_flag("--no-legacy-sse", w.no_legacy_sse,
                 "Turn off the HTTP+SSE transport of 2024-11-05 (/sse and /messages)");
    cli.add_option("--session-ttl", w.session_ttl, "Idle sessions end after this time")
        ->capture_default_str();
    cli.add_option("--max-connections", w.max_connections, "Connections per thread")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
        ->capture_default_str();
}

bool read_listeners(const words& w, settings& to, std::string& fault) {
    std::vector<std::string> specs = w.listen;
    if (specs.empty()) {
        const bool v6 = w.host.find(':') != std::string::npos && w.host.front() != '[';
        specs.push_back((v6 ? "[" + w.host + "]" : w.host) + ":" + w.port);
    }
    for (const std::string& text : specs) {
        auto spec = io::parse_listen_spec(text);
        if (!spec) {
            fault = "cannot listen on \"" + text + "\": " + spec.error().detail;
            return false;
        }
        if (!io::is_loopback(*spec) && !w.insecure_no_auth) {
            fault = "refusing to serve other machines on \"" + text +
                    "\" without authentication; use a loopback address, or --insecure-no-auth if "
                    "something in front authenticates";
            return false;
        }
        to.listen.push_back(std::move(*spec));
    }
    return true;
}

bool read_serving(const words& w, settings& to, std::string& fault) {
    if (!read_listeners(w, to, fault)) {
        return false;
    }
    if (w.path.empty() || w.path.front() != '/' || w.path.find_first_of(" ?#") != w.path.npos) {
        fault = "--path must begin with / and hold no blank, ? or #";
        return false;
    }
    to.path = w.path;
    std::size_t threads = 0;
    const char* const end = w.threads.data() + w.threads.size();
    if (w.threads == "auto") {
        threads = base::usable_cpus();
    } else if (const auto got = std::from_chars(w.threads.data(), end, threads);
               got.ec != std::errc{} || got.ptr != end || threads < 1 || threads > 256) {
        fault = "--threads takes a number from 1 to 256, or auto";
        return false;
    }
    to.threads = threads;
    for (const std::string& origin : w.origins) {
        if (!http::is_valid_origin_entry(origin)) {
            fault = "--allowed-origins: \"" + origin + "\" is no origin (scheme://host[:port])";
            return false;
        }
    }
    to.allowed_origins = w.origins;
    to.allowed_hosts = w.hosts;
    to.insecure_no_auth = w.insecure_no_auth;
    to.legacy_sse = !w.no_legacy_sse;
    to.connections_max = w.max_connections;
    return true;
}

// Null with a fault.
std::shared_ptr<const crypto::key_ring> read_state_keys(const std::string& path,
                                                        std::string& fault) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    constexpr std::streamsize bytes_max = 64 * 1024;
    text.resize(bytes_max);
    file.read(text.data(), bytes_max);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.empty()) {
        fault = "--state-keys: cannot read \"" + path + "\"";
        return nullptr;
    }
    auto keys = crypto::key_ring::parse(text, fault);
    crypto::wipe(text.data(), text.size());
    if (keys == nullptr) {
        fault = "--state-keys: \"" + path + "\": " + fault;
    }
    return keys;
}

bool read_common(const words& w, settings& to, std::string& fault) {
    to.io = w.io == "uring"   ? io::backend_mode::uring
            : w.io == "epoll" ? io::backend_mode::epoll
                              : io::backend_mode::automatic;
    const auto request = parse_duration_ms(w.request_timeout);
    const auto drain = parse_duration_ms(w.drain_timeout);
    const auto session = parse_duration_ms(w.session_ttl);
    if (!request || *request == 0 || !drain || !session || *session == 0) {
        fault = "durations need a number and a unit, such as 500ms, 30s, 5m or 2h";
        return false;
    }
    if (!w.state_keys.empty()) {
        to.state_keys = read_state_keys(w.state_keys, fault);
        if (to.state_keys == nullptr) {
            return false;
        }
    }
    to.request_timeout_ms = *request;
    to.drain_timeout_ms = *drain;
    to.session_ttl_ms = *session;
    log::level level = log::level::info;
    log::parse_level(w.log_level, level);
    log::set_level(level);
    to.json_log = w.log_format == "json";
    log::set_format(w.log_format == "json" ? log::format::json : log::format::text);
    return true;
}

int print_version(const server& /*s*/, const detail::implementation_info& info) {
    std::printf("%s %s\n", info.name.c_str(), info.version.c_str());
    if (info.name != "pillion" || info.version != pillion::version) {
        std::printf("pillion %s\n", pillion::version);
    }
    return 0;
}

int check(const mcp::registry& reg) {
    std::printf("ok: %zu tools, %zu prompts, %zu resources, %zu templates, %zu providers\n",
                reg.tools().size(), reg.prompts().size(), reg.resources().size(),
                reg.templates().size(), reg.providers().size());
    return 0;
}

std::string describe(const detail::implementation_info& info) {
    std::string text = info.name + " " + info.version;
    if (!info.description.empty()) {
        text += ": " + info.description;
    }
    return text +
           "\n\nCommands:\n"
           "  serve     (default) Streamable HTTP, MCP 2024-11-05 to 2026-07-28 on one endpoint\n"
           "  stdio     the same over standard input and output\n"
           "  check     checks options and registrations, then exits\n"
           "  version   prints versions\n"
           "Exit codes: 0 clean, 1 run-time failure, 2 usage or configuration.";
}

void add_own(CLI::App& cli, detail::server_state& state) {
    for (detail::own_option& o : state.options) {
        if (o.on != nullptr) {
            cli.add_flag("--" + o.name, *o.on, o.help);
        } else {
            cli.add_option("--" + o.name, *o.text, o.help)->capture_default_str();
        }
    }
}

}  // namespace

int run_command(server& s, int argc, char** argv) {
    detail::server_state& state = s.state();
    const detail::implementation_info& info = state.defs.info;
    std::vector<std::string> rest(argv + (argc > 0 ? 1 : 0), argv + argc);
    std::string command = "serve";
    if (!rest.empty() && !rest.front().starts_with('-')) {
        command = rest.front();
        rest.erase(rest.begin());
    }
    if (command == "version" || (rest.size() == 1 && rest[0] == "--version")) {
        return print_version(s, info);
    }
    if (command == "help") {
        command = "serve";
        rest.assign(1, "--help");
    }
    if (command != "serve" && command != "stdio" && command != "check") {
        return usage_fault(info.name, "unknown command \"" + command +
                                          "\"; there are serve, stdio, check and version");
    }
    words w;
    CLI::App cli(describe(info), info.name + (command == "serve" ? "" : " " + command));
    add_common(cli, w);
    if (command != "stdio") {
        add_serving(cli, w);
    }
    add_own(cli, state);
    try {
        // CLI11 takes the words last first.
        cli.parse(std::vector<std::string>(rest.rbegin(), rest.rend()));
    } catch (const CLI::CallForHelp&) {
        std::fputs(cli.help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& e) {
        return usage_fault(info.name, e.what());
    }
    settings set;
    std::string fault;
    if (!read_common(w, set, fault) || (command != "stdio" && !read_serving(w, set, fault))) {
        return usage_fault(info.name, fault);
    }
    auto registered = prepare(s, set.request_timeout_ms, fault);
    if (registered == nullptr) {
        return usage_fault(info.name, fault);
    }
    if (command == "check") {
        return check(*registered);
    }
    return command == "stdio" ? run_stdio(s, std::move(registered), set)
                              : run_http(s, std::move(registered), set);
}

}  // namespace pillion::app
