#include "io/unix_peer.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

namespace pillion::io {

namespace {

#ifndef SO_PEERGROUPS
constexpr int so_peergroups = 59;  // Linux 4.13
#else
constexpr int so_peergroups = SO_PEERGROUPS;
#endif

// A group's entry lists its members: larger ones are not found, and can be given by number.
constexpr std::size_t entry_bytes_max = 1024 * 1024;

bool credentials_of(int fd, ucred& out) noexcept {
    socklen_t bytes = sizeof out;
    constexpr auto unknown = static_cast<uid_t>(-1);
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &out, &bytes) == 0 && out.uid != unknown;
}

// Supplementary groups; none where the kernel does not tell.
std::vector<gid_t> groups_of(int fd) {
    std::vector<gid_t> all(32);
    for (int tries = 0; tries < 2; ++tries) {
        auto bytes = static_cast<socklen_t>(all.size() * sizeof(gid_t));
        const bool told = ::getsockopt(fd, SOL_SOCKET, so_peergroups, all.data(), &bytes) == 0;
        const bool more = !told && errno == ERANGE;
        all.resize(told || more ? bytes / sizeof(gid_t) : 0);
        if (!more) {
            return all;
        }
    }
    return {};
}

template <class Id>
std::optional<Id> parse_id(std::string_view text) noexcept {
    Id id = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (failed != std::errc{} || end != text.data() + text.size() || id == static_cast<Id>(-1)) {
        return std::nullopt;
    }
    return id;
}

}  // namespace

bool unix_peers::allow(int fd) const {
    ucred who{};
    if (!credentials_of(fd, who)) {
        return false;
    }
    const auto has = [](const auto& list, auto id) {
        return std::find(list.begin(), list.end(), id) != list.end();
    };
    if (who.uid == 0 || who.uid == ::geteuid() || has(users, who.uid) || has(groups, who.gid)) {
        return true;
    }
    if (groups.empty()) {
        return false;
    }
    const std::vector<gid_t> more = groups_of(fd);
    return std::any_of(more.begin(), more.end(), [&](gid_t id) { return has(groups, id); });
}

std::optional<uid_t> peer_user(int fd) noexcept {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    ucred who{};
    // TCP sockets answer SO_PEERCRED, too, with nobody.
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0 ||
        address.ss_family != AF_UNIX || !credentials_of(fd, who)) {
        return std::nullopt;
    }
    return who.uid;
}

std::optional<uid_t> find_user(std::string_view text) {
    if (const auto id = parse_id<uid_t>(text)) {
        return id;
    }
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> room(entry_bytes_max);
    ::getpwnam_r(std::string(text).c_str(), &entry, room.data(), room.size(), &found);
    return found == nullptr ? std::nullopt : std::optional<uid_t>(entry.pw_uid);
}

std::optional<gid_t> find_group(std::string_view text) {
    if (const auto id = parse_id<gid_t>(text)) {
        return id;
    }
    group entry{};
    group* found = nullptr;
    std::vector<char> room(entry_bytes_max);
    ::getgrnam_r(std::string(text).c_str(), &entry, room.data(), room.size(), &found);
    return found == nullptr ? std::nullopt : std::optional<gid_t>(entry.gr_gid);
}

}  // namespace pillion::io
