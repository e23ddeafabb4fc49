#include "app/init_command.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <CLI/CLI.hpp>

#include "app/cli.hpp"
#include "app/config_fault.hpp"

namespace pillion::app {

namespace {

constexpr int exit_failure = 1;

constexpr std::string_view head = R"(# Configuration of @PROGRAM@.
#   @PROGRAM@ check @FILE@             says what is wrong with it
#   @PROGRAM@ serve --config @FILE@    serves
#   @PROGRAM@ check --schema           prints its JSON Schema, for editors
#
# A line with # and no blank behind it is a setting: take the # away. Flags win over this file. A
# change of it is taken over while the server runs, as far as that is possible; the log says what
# needs a restart. ${NAME} and ${NAME:-default} come from the environment.

http:
  # host:port, unix:/path or fd:N. To serve other machines say 0.0.0.0:8443, with tls and with auth
  # below, or leave the TLS to what is in front and say insecure_plain_tokens in auth.
  listen: ["127.0.0.1:8080"]
  #path: /mcp
  # Further users whom unix sockets serve besides this one.
  #unix_users: [root]
  # Web pages that may call, and further names that the Host of a request may carry.
  #allowed_origins: ["https://app.example"]
  #allowed_hosts: [mcp.example]
  # Proxies in front, which are believed whom they speak for.
  #trusted_proxies: [127.0.0.1]
  # No HTTP+SSE transport of 2024-11-05.
  #legacy_sse: false

# https at every address with a port. The files are read again when they change.
#tls: {cert: cert.pem, key: key.pem}

# Callers show a key, each of its own: `@PROGRAM@ token list NAME --append keys.txt` makes one.
#auth: {api_keys: keys.txt}

server:
  # Event loops, one thread each: a number, or auto for one of each processor.
  #threads: auto
  # How long a shutdown waits for what is in flight; what ends the process must have more patience.
  drain_timeout: 10s

log:
  level: ${LOG_LEVEL:-info}
  #format: json

limits:
  request_timeout: 30s
  #session_ttl: 30m
  #connections: 10000
  #body: 1MiB
  #result: 10MiB

# Requests a second, of one principal and of one address.
#rates: {principal: 200, address: 200}

# Numbers for Prometheus, at an address of their own.
#metrics: {listen: "127.0.0.1:9090"}

# Programs and services become tools; {name} is an argument of the call.
#tools: {disk_usage: {description: Disk usage., command: {argv: [du, -sh, "{path}"]}}}
#upstreams: {notes: {url: "http://127.0.0.1:9000"}}

# MCP servers behind this one are started as children.
#servers: {clock: {command: mcp-server-time}}

# Directories whose files are resources.
#folders: {here: {path: ., include: ["**/*.md"]}}
)";

std::string with(std::string text, std::string_view place, const std::string& value) {
    for (std::size_t at = text.find(place); at != text.npos;
         at = text.find(place, at + value.size())) {
        text.replace(at, place.size(), value);
    }
    return text;
}

// Any text is one in single quotes, but for the quotes.
std::string as_yaml(const std::string& text) { return "'" + with(text, "'", "''") + "'"; }

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    return true;
}

int refuse(const std::string& program, const std::string& text) {
    std::fprintf(stderr, "%s: init: %s\n", program.c_str(), text.c_str());
    return exit_failure;
}

}  // namespace

std::string starter_configuration(const std::string& program, const std::string& file,
                                  const std::vector<detail::own_option>& own) {
    std::string text =
        with(with(std::string(head), "@PROGRAM@", program), "@FILE@", file == "-" ? "FILE" : file);
    if (own.empty()) {
        return text;
    }
    text += "\noptions:\n";
    for (const detail::own_option& one : own) {
        std::string name = one.name;
        std::replace(name.begin(), name.end(), '-', '_');
        const std::string value = one.on != nullptr   ? (*one.on ? "false" : "true")
                                  : one.text->empty() ? "."
                                                      : as_yaml(*one.text);
        text += "  # " + one.help + ".\n  #" + name + ": " + value + "\n";
    }
    return text;
}

int run_init(const std::string& program, const std::vector<detail::own_option>& own,
             const std::vector<std::string>& arguments) {
    std::string file = starter_name;
    CLI::App cli("Writes a configuration to begin with; it never overwrites one.",
                 program + " init");
    cli.add_option("FILE", file, "Where to; - is stdout")->capture_default_str();
    try {
        // CLI11 takes the words last first.
        cli.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        std::fputs(cli.help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& e) {
        static_cast<void>(refuse(program, e.what()));
        return exit_usage;
    }
    const std::string text = starter_configuration(program, file, own);
    if (file == "-") {
        return write_all(STDOUT_FILENO, text)
                   ? 0
                   : refuse(program, std::string("stdout: ") + std::strerror(errno));
    }
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        return refuse(program, shown_path(file) + ": " +
                                   (errno == EEXIST ? "is there already, and is not overwritten"
                                                    : std::strerror(errno)));
    }
    const bool written = write_all(fd, text);
    if ((::close(fd) != 0) || !written) {
        return refuse(program, shown_path(file) + ": " + std::strerror(errno));
    }
    return 0;
}

}  // namespace pillion::app
