// socket: everything about addresses and listening sockets: the text form of `--listen`, creating
// and binding, several shards on one port, taking over a stale unix socket, names for the log.
//
// Start-up code (may allocate), except the peer names, which are made once per connection without
// heap. Thread-safety: free functions are safe from any thread; a listen_socket has one owner.
#pragma once

#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pillion/result.hpp"

namespace pillion::io {

enum class listen_kind : std::uint8_t { tcp, unix_path, inherited };
// What is spoken there: `usual` is https where certificates are configured.
enum class listen_scheme : std::uint8_t { usual, http, https };

// What the user asked to listen on.
struct listen_spec {
    listen_kind kind = listen_kind::tcp;
    std::string host;        // tcp: a numeric address or a name ("localhost"), without brackets
    std::uint16_t port = 0;  // tcp: 0 lets the system choose
    std::string path;        // unix_path
    bool others = false;     // … whose file admits every user: who may connect is seen later
    int fd = -1;             // inherited
    listen_scheme scheme = listen_scheme::usual;  // tcp, inherited
};

// Parses "host:port", "[::1]:8080", ":8080" (127.0.0.1), each with or without "http://" or
// "https://" before it, "unix:/path" and "fd:3".
result<listen_spec> parse_listen_spec(std::string_view text);

// Whether only this machine can reach it: 127.0.0.0/8, ::1, "localhost", a unix socket. For an
// inherited descriptor its bound address decides.
bool is_loopback(const listen_spec& spec) noexcept;

// A bound, listening descriptor (non-blocking, close-on-exec). Closes it, and removes the file of
// a unix socket that it created (if the path still names that very socket).
class listen_socket {
 public:
    listen_socket() noexcept = default;
    explicit listen_socket(int fd) noexcept : fd_(fd) {}
    listen_socket(listen_socket&& other) noexcept;
    listen_socket& operator=(listen_socket&& other) noexcept;
    ~listen_socket() { close(); }

    int fd() const noexcept { return fd_; }
    // Closes now instead of in the destructor. Idempotent. REQUIRES: no accept in flight on it.
    void close() noexcept;
    // Removes the unix socket's file at close; remembers which inode is ours.
    void own_path(std::string path) noexcept;

 private:
    int fd_ = -1;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

// One listening socket per shard for `spec`. TCP: separate sockets that share the port by
// SO_REUSEPORT when `shards` > 1; a port that any other socket listens on is an error, also when
// that one allows sharing. Unix and inherited: duplicates of one descriptor; the file of a unix
// socket has mode 0600, or 0666 for `others`. TCP_NODELAY and, on
// the loopback, the plainest congestion control are set on the listening socket; accepted ones
// inherit them. Refuses with the errno of the failed call.
result<std::vector<listen_socket>> open_listeners(const listen_spec& spec, std::size_t shards);

// The bound address as text: "127.0.0.1:8080", "[::1]:8080", "unix:/path".
std::string local_address(int fd);
// The bound TCP port; 0 for other sockets.
std::uint16_t local_port(int fd) noexcept;

// The remote end as text, made once per connection.
struct peer_name {
    char text[48] = {};  // the longest is an IPv6 address with brackets and port
    std::uint8_t text_bytes = 0;
    std::uint8_t address_begin = 0;  // the address inside `text`, without brackets and port
    std::uint8_t address_bytes = 0;
    std::uint8_t principal_begin = 0;  // who the system says it is
    std::uint8_t principal_bytes = 0;

    std::string_view view() const noexcept { return {text, text_bytes}; }
    std::string_view address() const noexcept { return {text + address_begin, address_bytes}; }
    std::string_view principal() const noexcept {
        return {text + principal_begin, principal_bytes};
    }
    // A fixed name without an address ("stdio", "unix").
    static peer_name of_text(std::string_view name) noexcept;
};

// "127.0.0.1:50000", "[::1]:50000" or "unix:uid:1000"; IPv4-mapped addresses are shown as IPv4.
peer_name peer_of(int fd) noexcept;

// A listening unix socket, where a connect is one step, refuses it from now on. Those who are
// connected may still be accepted.
void refuse_connects(int listen_fd) noexcept;

// Raises the soft limit of open descriptors to the hard one; returns what holds afterwards.
std::uint64_t raise_descriptor_limit() noexcept;

}  // namespace pillion::io
