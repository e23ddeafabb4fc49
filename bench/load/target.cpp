#include "target.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/ascii.hpp"
#include "http/authority.hpp"

namespace pillion::load {

namespace {

constexpr std::string_view unix_scheme = "unix:";
constexpr std::string_view http_scheme = "http://";
constexpr std::string_view https_scheme = "https://";

// RFC 9112 §3.2.1: no blanks, no controls; the rest is the server's business.
bool is_request_target(std::string_view path) {
    if (!path.starts_with('/')) {
        return false;
    }
    for (const char c : path) {
        if (c <= ' ' || c >= 0x7f || c == '#') {
            return false;
        }
    }
    return true;
}

bool set_unix_address(target& to, std::string& fault) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (to.socket_path.size() >= sizeof address.sun_path) {
        fault = "the path of the socket is too long";
        return false;
    }
    to.socket_path.copy(address.sun_path, to.socket_path.size());
    std::memcpy(&to.address, &address, sizeof address);
    to.address_bytes = sizeof address;
    return true;
}

// Whether somebody accepts a connection there soon.
bool answers(const addrinfo& at) {
    constexpr int patience_ms = 1000;
    const int fd = ::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    bool connected = ::connect(fd, at.ai_addr, at.ai_addrlen) == 0;
    if (!connected && errno == EINPROGRESS) {
        pollfd wait{fd, POLLOUT, 0};
        int failure = 0;
        socklen_t bytes = sizeof failure;
        connected = ::poll(&wait, 1, patience_ms) == 1 &&
                    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &bytes) == 0 && failure == 0;
    }
    ::close(fd);
    return connected;
}

}  // namespace

std::optional<target> parse_target(std::string_view text, std::string_view path,
                                   std::string& fault) {
    target to;
    to.text = text;
    if (text.starts_with(unix_scheme)) {
        to.socket_path = text.substr(unix_scheme.size());
        to.path = path;
        to.host_field = "localhost";
        if (to.socket_path.empty() || !set_unix_address(to, fault)) {
            fault = fault.empty() ? "unix: needs the path of a socket" : fault;
            return std::nullopt;
        }
    } else if (text.starts_with(http_scheme) || text.starts_with(https_scheme)) {
        to.secure = text.starts_with(https_scheme);
        text.remove_prefix(to.secure ? https_scheme.size() : http_scheme.size());
        const std::size_t end = text.find_first_of("/?");
        to.host_field = text.substr(0, end);
        to.path = end == std::string_view::npos ? "/" : std::string(text.substr(end));
        if (to.host_field.find('@') != to.host_field.npos) {
            fault = "a URL must not hold a user or a password (--header @FILE)";
            return std::nullopt;
        }
        http::authority parts;
        if (!http::parse_authority(to.host_field, parts)) {
            fault = "no host, or not a plain one, in " + to.text;
            return std::nullopt;
        }
        to.port = parts.has_port ? parts.port : to.secure ? std::uint16_t{443} : std::uint16_t{80};
        std::string_view host = parts.host;
        if (host.starts_with('[')) {
            host = host.substr(1, host.size() - 2);
        }
        to.host = host;
    } else {
        fault = to.text + " is none of http://host[:port]/path, https://… and unix:/path.sock";
        return std::nullopt;
    }
    if (!is_request_target(to.path)) {
        fault = "the path must begin with / and hold no blanks";
        return std::nullopt;
    }
    return to;
}

target command_target(std::vector<std::string> words) {
    target to;
    to.text = "stdio";
    for (const std::string& word : words) {
        to.text += " " + word;
    }
    to.command = std::move(words);
    return to;
}

std::optional<std::string> path_of_endpoint(const target& to, std::string_view uri) {
    const std::string_view scheme = to.secure ? https_scheme : http_scheme;
    if (base::equals_ignore_case(uri.substr(0, scheme.size()), scheme)) {
        uri.remove_prefix(scheme.size());
        const std::size_t end = std::min(uri.find('/'), uri.size());
        if (!base::equals_ignore_case(uri.substr(0, end), to.host_field)) {
            return std::nullopt;
        }
        uri.remove_prefix(end);
    } else if (uri.find("://") < uri.find_first_of("/?")) {
        return std::nullopt;
    }
    std::string path(uri);
    if (!path.starts_with('/')) {
        // Relative to the folder of the path (RFC 3986 §5.2.3).
        const std::string_view own = std::string_view(to.path).substr(0, to.path.find('?'));
        path.insert(0, own.substr(0, own.rfind('/') + 1));
    }
    return is_request_target(path) ? std::optional<std::string>(path) : std::nullopt;
}

bool resolve(target& where, std::string& fault) {
    if (where.is_unix() || where.is_command()) {
        return true;
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int failure =
        ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &list);
    if (failure != 0) {
        fault = where.host + ": " + ::gai_strerror(failure);
        return false;
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
    const addrinfo* chosen = list;
    if (list->ai_next != nullptr) {
        for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
            if (answers(*at)) {
                chosen = at;
                break;
            }
        }
    }
    std::memcpy(&where.address, chosen->ai_addr, chosen->ai_addrlen);
    where.address_bytes = chosen->ai_addrlen;
    return true;
}

}  // namespace pillion::load
