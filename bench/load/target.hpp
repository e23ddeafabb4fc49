// target: where the server is: an http URL or a unix socket, taken apart and resolved.
//
// Start-up code: may allocate, and wait for a name to be resolved.
#pragma once

#include <sys/socket.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::load {

struct target {
    std::string text;  // as it was given
    std::string host;  // without brackets; empty for a unix socket
    std::uint16_t port = 0;
    std::string socket_path;     // of a unix socket
    std::string host_field;      // what goes into Host
    std::string path;            // what is asked for, with its query
    sockaddr_storage address{};  // once resolved
    socklen_t address_bytes = 0;

    bool is_unix() const noexcept { return !socket_path.empty(); }
};

// Reads "http://host[:port][/path]" or "unix:/path.sock". `path` is asked for at a unix socket.
// nullopt, with `fault` set, for anything else.
std::optional<target> parse_target(std::string_view text, std::string_view path,
                                   std::string& fault);

// Finds the address. Of several, the first that accepts a connection counts ("localhost" is often
// ::1 first). False, with `fault` set, when the name is unknown.
bool resolve(target& where, std::string& fault);

}  // namespace pillion::load
