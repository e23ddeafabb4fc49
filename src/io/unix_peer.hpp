// unix_peer: who is at the other end of a unix socket, as the kernel says (SO_PEERCRED, unix(7)),
// and who may be.
//
// The identity is that of the process that connected, at that moment. Thread-safety: any thread.
#pragma once

#include <sys/types.h>
#include <optional>
#include <string_view>
#include <vector>

namespace pillion::io {

// Users and groups of this machine that may connect, besides root and the user that the server
// runs as, whom no socket can keep out.
struct unix_peers {
    std::vector<uid_t> users;
    std::vector<gid_t> groups;

    // Nobody was named: the mode of the socket's file decides (0600).
    bool unnamed() const noexcept { return users.empty() && groups.empty(); }
    // Whether the peer of the connected unix socket `fd` may be served: one of the users, or in one
    // of the groups, supplementary ones included. False when the system does not say who it is.
    bool allow(int fd) const;
};

// The user at the other end; none for other sockets.
std::optional<uid_t> peer_user(int fd) noexcept;

// A number, or a name of the system's data base; none when there is no such user or group. May read
// files: at start-up.
std::optional<uid_t> find_user(std::string_view text);
std::optional<gid_t> find_group(std::string_view text);

}  // namespace pillion::io
