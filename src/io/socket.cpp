#include "io/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "base/ascii.hpp"
#include "io/unix_peer.hpp"

namespace pillion::io {

namespace {

constexpr int backlog = 4096;

// Any socket address with its length.
struct address {
    sockaddr_storage storage{};
    socklen_t bytes = sizeof(sockaddr_storage);

    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
    const sockaddr_in* v4() const noexcept {
        return reinterpret_cast<const sockaddr_in*>(&storage);
    }
    const sockaddr_in6* v6() const noexcept {
        return reinterpret_cast<const sockaddr_in6*>(&storage);
    }
    const sockaddr_un* un() const noexcept {
        return reinterpret_cast<const sockaddr_un*>(&storage);
    }
};

error os_error(errc kind, const char* what) noexcept { return {kind, what, errno}; }

void turn_on(int fd, int level, int option) noexcept {
    const int one = 1;
    // A refusal (an option unknown to this kernel) is no reason not to serve.
    static_cast<void>(::setsockopt(fd, level, option, &one, sizeof one));
}

bool is_loopback_address(const address& at) noexcept {
    switch (at.storage.ss_family) {
        case AF_UNIX:
            return true;
        case AF_INET:
            return (ntohl(at.v4()->sin_addr.s_addr) >> 24) == 127;
        case AF_INET6: {
            const in6_addr& v6 = at.v6()->sin6_addr;
            return IN6_IS_ADDR_LOOPBACK(&v6) ||
                   (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
        }
        default:
            return false;
    }
}

// What connections of a listening socket inherit.
void set_up_for_connections(int fd, const address& at) noexcept {
    turn_on(fd, IPPROTO_TCP, TCP_NODELAY);
    // The loopback has no congestion, and a control that paces (BBR) costs timers there. This one
    // is everybody's to use on every system (tcp(7), TCP_CONGESTION).
    constexpr char plain[] = "reno";
    if (is_loopback_address(at)) {
        static_cast<void>(::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, plain, sizeof plain - 1));
    }
}

bool parse_port(std::string_view text, std::uint16_t& port) noexcept {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    return failed == std::errc{} && end == text.data() + text.size();
}

result<address> resolve(const listen_spec& spec) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const std::string port = std::to_string(spec.port);
    const int failed = ::getaddrinfo(spec.host.c_str(), port.c_str(), &hints, &list);
    if (failed != 0 || list == nullptr) {
        return error{errc::not_found, "the host to listen on is unknown"};
    }
    address found;
    std::memcpy(&found.storage, list->ai_addr, list->ai_addrlen);
    found.bytes = list->ai_addrlen;
    ::freeaddrinfo(list);
    return found;
}

// Claims the port alone: without SO_REUSEPORT the system refuses both bind and listen when anybody
// listens there, also a socket that would share. Only then the option is set, so that our other
// shards (same user) may join; nobody else was let in meanwhile.
result<listen_socket> claim_tcp(address& at) {
    listen_socket made(
        ::socket(at.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made.fd() < 0) {
        return os_error(errc::unavailable, "cannot create a socket");
    }
    turn_on(made.fd(), SOL_SOCKET, SO_REUSEADDR);
    set_up_for_connections(made.fd(), at);
    if (::bind(made.fd(), at.get(), at.bytes) != 0) {
        return os_error(errc::unavailable, "cannot bind the address");
    }
    if (::listen(made.fd(), backlog) != 0) {
        return os_error(errc::unavailable, "cannot listen on the address");
    }
    return made;
}

result<listen_socket> join_tcp(address& at) {
    listen_socket made(
        ::socket(at.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made.fd() < 0) {
        return os_error(errc::unavailable, "cannot create a socket");
    }
    turn_on(made.fd(), SOL_SOCKET, SO_REUSEADDR);
    turn_on(made.fd(), SOL_SOCKET, SO_REUSEPORT);
    set_up_for_connections(made.fd(), at);
    if (::bind(made.fd(), at.get(), at.bytes) != 0 || ::listen(made.fd(), backlog) != 0) {
        return os_error(errc::unavailable, "cannot share the port between shards");
    }
    return made;
}

result<std::vector<listen_socket>> open_tcp(const listen_spec& spec, std::size_t shards) {
    auto at = resolve(spec);
    if (!at) {
        return at.error();
    }
    auto first = claim_tcp(*at);
    if (!first) {
        return first.error();
    }
    std::vector<listen_socket> all;
    all.push_back(std::move(*first));
    if (shards > 1) {
        turn_on(all[0].fd(), SOL_SOCKET, SO_REUSEPORT);
        // With port 0 the others need the port that was chosen.
        at->bytes = sizeof at->storage;
        if (::getsockname(all[0].fd(), at->get(), &at->bytes) != 0) {
            return os_error(errc::io, "cannot read the bound address");
        }
    }
    while (all.size() < shards) {
        auto next = join_tcp(*at);
        if (!next) {
            return next.error();
        }
        all.push_back(std::move(*next));
    }
    return all;
}

// A socket file nobody answers on is left over from a killed server and may go; anything else
// (a live server, a plain file, one we may not touch) stays.
result<void> clear_stale(const std::string& path, address& at) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) {
        return errno == ENOENT ? ok() : result<void>(os_error(errc::io, "cannot look at the path"));
    }
    if (!S_ISSOCK(info.st_mode)) {
        return error{errc::denied, "the path exists and is not a socket", EEXIST};
    }
    const listen_socket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(probe.fd(), at.get(), at.bytes) == 0 || errno != ECONNREFUSED) {
        return error{errc::unavailable, "another process listens on the unix socket", EADDRINUSE};
    }
    if (::unlink(path.c_str()) != 0) {
        return os_error(errc::denied, "cannot remove the stale unix socket");
    }
    return ok();
}

result<listen_socket> claim_unix(const std::string& path, bool others) {
    address at;
    auto* name = reinterpret_cast<sockaddr_un*>(&at.storage);
    if (path.empty() || path.size() >= sizeof name->sun_path) {
        return error{errc::invalid, "the path of a unix socket has 1 to 107 bytes", ENAMETOOLONG};
    }
    name->sun_family = AF_UNIX;
    std::memcpy(name->sun_path, path.c_str(), path.size() + 1);
    at.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    if (const auto cleared = clear_stale(path, at); !cleared) {
        return cleared.error();
    }
    listen_socket made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made.fd() < 0) {
        return os_error(errc::unavailable, "cannot create a socket");
    }
    // fchmod before bind decides the mode of the file together with the umask; the umask is set as
    // well, so that there is no moment in which others could connect.
    const mode_t mode = others ? 0666 : 0600;
    static_cast<void>(::fchmod(made.fd(), mode));
    const mode_t before = ::umask(0777 & ~mode);
    const int bound = ::bind(made.fd(), at.get(), at.bytes);
    const int why = errno;
    ::umask(before);
    if (bound != 0) {
        errno = why;
        return os_error(errc::unavailable, "cannot bind the unix socket");
    }
    made.own_path(path);
    if (::listen(made.fd(), backlog) != 0) {
        return os_error(errc::unavailable, "cannot listen on the unix socket");
    }
    return made;
}

result<listen_socket> adopt_inherited(int fd) {
    int listening = 0;
    socklen_t bytes = sizeof listening;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &bytes) != 0 || listening == 0) {
        return error{errc::invalid, "the inherited descriptor is not a listening socket",
                     listening == 0 ? EINVAL : errno};
    }
    listen_socket made(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (made.fd() < 0) {
        return os_error(errc::unavailable, "cannot duplicate the inherited descriptor");
    }
    const int flags = ::fcntl(made.fd(), F_GETFL);
    static_cast<void>(::fcntl(made.fd(), F_SETFL, flags | O_NONBLOCK));
    turn_on(made.fd(), IPPROTO_TCP, TCP_NODELAY);
    return made;
}

// Writes address and port; `out` has 64 bytes, IPv6 with scope never needs more than 55.
void print_inet(const address& from, peer_name& out) noexcept {
    char host[INET6_ADDRSTRLEN] = {};
    unsigned port = 0;
    bool brackets = false;
    if (from.storage.ss_family == AF_INET) {
        ::inet_ntop(AF_INET, &from.v4()->sin_addr, host, sizeof host);
        port = ntohs(from.v4()->sin_port);
    } else if (IN6_IS_ADDR_V4MAPPED(&from.v6()->sin6_addr)) {
        ::inet_ntop(AF_INET, from.v6()->sin6_addr.s6_addr + 12, host, sizeof host);
        port = ntohs(from.v6()->sin6_port);
    } else {
        ::inet_ntop(AF_INET6, &from.v6()->sin6_addr, host, sizeof host);
        port = ntohs(from.v6()->sin6_port);
        brackets = true;
    }
    const int bytes =
        std::snprintf(out.text, sizeof out.text, brackets ? "[%s]:%u" : "%s:%u", host, port);
    out.text_bytes = static_cast<std::uint8_t>(bytes);
    out.address_begin = brackets ? 1 : 0;
    out.address_bytes = static_cast<std::uint8_t>(std::strlen(host));
}

peer_name unix_name(std::optional<uid_t> user) noexcept {
    constexpr std::size_t family_bytes = std::string_view("unix:").size();
    peer_name made = peer_name::of_text("unix:uid:");
    if (!user) {
        made.text_bytes = family_bytes - 1;
        return made;
    }
    const auto end = std::to_chars(made.text + made.text_bytes, std::end(made.text), *user).ptr;
    made.text_bytes = static_cast<std::uint8_t>(end - made.text);
    made.principal_begin = family_bytes;
    made.principal_bytes = static_cast<std::uint8_t>(made.text_bytes - family_bytes);
    return made;
}

}  // namespace

result<listen_spec> parse_listen_spec(std::string_view text) {
    listen_spec spec;
    if (text.starts_with("unix:")) {
        spec.kind = listen_kind::unix_path;
        spec.path = text.substr(5);
        if (spec.path.empty()) {
            return error{errc::invalid, "unix: needs a path"};
        }
        return spec;
    }
    if (text.starts_with("fd:")) {
        spec.kind = listen_kind::inherited;
        const std::string_view digits = text.substr(3);
        const auto [end, failed] =
            std::from_chars(digits.data(), digits.data() + digits.size(), spec.fd);
        if (failed != std::errc{} || end != digits.data() + digits.size() || spec.fd < 0) {
            return error{errc::invalid, "fd: needs the number of a descriptor"};
        }
        return spec;
    }
    if (text.starts_with("http://")) {
        spec.scheme = listen_scheme::http;
        text.remove_prefix(7);
    } else if (text.starts_with("https://")) {
        spec.scheme = listen_scheme::https;
        text.remove_prefix(8);
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || !parse_port(text.substr(colon + 1), spec.port)) {
        return error{errc::invalid,
                     "expected HOST:PORT, [V6]:PORT, http://HOST:PORT, https://HOST:PORT, "
                     "unix:PATH or fd:N"};
    }
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']') && host.size() > 2) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos || host.starts_with('[')) {
        return error{errc::invalid, "an IPv6 address needs brackets: [::1]:8080"};
    }
    spec.host = host.empty() ? "127.0.0.1" : host;
    return spec;
}

bool is_loopback(const listen_spec& spec) noexcept {
    address at;
    switch (spec.kind) {
        case listen_kind::unix_path:
            return true;
        case listen_kind::inherited:
            return ::getsockname(spec.fd, at.get(), &at.bytes) == 0 && is_loopback_address(at);
        case listen_kind::tcp:
            break;
    }
    in_addr v4{};
    in6_addr v6{};
    if (::inet_pton(AF_INET, spec.host.c_str(), &v4) == 1) {
        return (ntohl(v4.s_addr) >> 24) == 127;
    }
    if (::inet_pton(AF_INET6, spec.host.c_str(), &v6) == 1) {
        return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
    }
    return base::equals_ignore_case(spec.host, "localhost");
}

listen_socket::listen_socket(listen_socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      device_(other.device_),
      inode_(other.inode_) {
    other.path_.clear();
}

listen_socket& listen_socket::operator=(listen_socket&& other) noexcept {
    if (this != &other) {
        close();
        fd_ = std::exchange(other.fd_, -1);
        path_ = std::exchange(other.path_, {});
        device_ = other.device_;
        inode_ = other.inode_;
    }
    return *this;
}

void listen_socket::own_path(std::string path) noexcept {
    struct stat info{};
    if (::lstat(path.c_str(), &info) == 0) {
        path_ = std::move(path);
        device_ = info.st_dev;
        inode_ = info.st_ino;
    }
}

void listen_socket::close() noexcept {
    struct stat info{};
    if (!path_.empty() && ::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ &&
        info.st_ino == inode_) {
        ::unlink(path_.c_str());
    }
    path_.clear();
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

result<std::vector<listen_socket>> open_listeners(const listen_spec& spec, std::size_t shards) {
    if (spec.kind == listen_kind::tcp) {
        return open_tcp(spec, shards);
    }
    auto first = spec.kind == listen_kind::unix_path ? claim_unix(spec.path, spec.others)
                                                     : adopt_inherited(spec.fd);
    if (!first) {
        return first.error();
    }
    std::vector<listen_socket> all;
    all.push_back(std::move(*first));
    while (all.size() < shards) {
        listen_socket copy(::fcntl(all[0].fd(), F_DUPFD_CLOEXEC, 3));
        if (copy.fd() < 0) {
            return os_error(errc::unavailable, "cannot duplicate the listening socket");
        }
        all.push_back(std::move(copy));
    }
    return all;
}

std::string local_address(int fd) {
    address at;
    if (::getsockname(fd, at.get(), &at.bytes) != 0) {
        return "unknown";
    }
    if (at.storage.ss_family == AF_UNIX) {
        return std::string("unix:") + at.un()->sun_path;
    }
    peer_name text;
    print_inet(at, text);
    return std::string(text.view());
}

std::uint16_t local_port(int fd) noexcept {
    address at;
    if (::getsockname(fd, at.get(), &at.bytes) != 0) {
        return 0;
    }
    switch (at.storage.ss_family) {
        case AF_INET:
            return ntohs(at.v4()->sin_port);
        case AF_INET6:
            return ntohs(at.v6()->sin6_port);
        default:
            return 0;
    }
}

peer_name peer_name::of_text(std::string_view name) noexcept {
    peer_name made;
    const std::size_t bytes = std::min(name.size(), sizeof made.text);
    std::memcpy(made.text, name.data(), bytes);
    made.text_bytes = static_cast<std::uint8_t>(bytes);
    return made;
}

peer_name peer_of(int fd) noexcept {
    address at;
    if (::getpeername(fd, at.get(), &at.bytes) != 0) {
        return peer_name::of_text("unknown");
    }
    if (at.storage.ss_family == AF_UNIX) {
        return unix_name(peer_user(fd));
    }
    peer_name made;
    print_inet(at, made);
    return made;
}

void refuse_connects(int listen_fd) noexcept { ::shutdown(listen_fd, SHUT_RD); }

std::uint64_t raise_descriptor_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    if (limit.rlim_cur < limit.rlim_max) {
        const rlim_t before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
            return before;
        }
    }
    return limit.rlim_cur;
}

}  // namespace pillion::io
