// target: where the server is: an http or https URL or a unix socket, taken apart and resolved, or
// the command that starts it.
//
// Start-up code: may allocate, and wait for a name to be resolved.
#pragma once

#include <sys/socket.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::load {

class tls_dial;

struct target {
    std::string text;  // as it was given
    std::string host;  // without brackets; empty for a unix socket
    std::uint16_t port = 0;
    std::string socket_path;           // of a unix socket
    std::vector<std::string> command;  // of a server on stdio, with its arguments
    std::string host_field;            // what goes into Host
    std::string path;                  // what is asked for, with its query
    sockaddr_storage address{};        // once resolved
    socklen_t address_bytes = 0;
    bool secure = false;             // https
    std::shared_ptr<tls_dial> dial;  // … and how that is spoken, once there is a loop

    bool is_unix() const noexcept { return !socket_path.empty(); }
    bool is_command() const noexcept { return !command.empty(); }
};

// A server that is started, one for each connection. REQUIRES: there are words.
target command_target(std::vector<std::string> words);

// The path of the URI that a server names for what is to be sent to it, absolute or relative to the
// target. nullopt for another server, and for what is no path.
std::optional<std::string> path_of_endpoint(const target& to, std::string_view uri);

// Reads "http://host[:port][/path]", the same with https, or "unix:/path.sock". `path` is asked for
// at a unix socket. nullopt, with `fault` set, for anything else.
std::optional<target> parse_target(std::string_view text, std::string_view path,
                                   std::string& fault);

// Finds the address. Of several, the first that accepts a connection counts ("localhost" is often
// ::1 first). False, with `fault` set, when the name is unknown.
bool resolve(target& where, std::string& fault);

}  // namespace pillion::load
