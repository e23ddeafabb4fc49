// floor-server: answers canned bytes without looking, for comparisons; bench/compare/run starts it.
//
//   floor-server uring|epoll PORT|unix:/path.sock ANSWER_BYTES [BUFFERS BUFFER_BYTES]
//
// PORT 0 is a free one of 127.0.0.1. ANSWER_BYTES is the size of an HTTP response, head included.
// BUFFERS (a power of two; 256) of BUFFER_BYTES (4096) are for io_uring; 16 of 65536 suit requests
// of 32 KiB. Says "listening on URL" on stderr. One thread: pin it with taskset.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <bit>
#include <charconv>
#include <string_view>

#include "canned.hpp"
#include "floor.hpp"

namespace {

using namespace pillion::floor;

constexpr std::string_view unix_scheme = "unix:";
constexpr unsigned number_max = 1U << 30U;
constexpr int backlog = 4096;

[[noreturn]] void refuse() {
    std::fputs(
        "usage: floor-server uring|epoll PORT|unix:/path.sock ANSWER_BYTES "
        "[BUFFERS BUFFER_BYTES]\n",
        stderr);
    std::exit(2);
}

unsigned read_number(std::string_view text, unsigned least, unsigned most) {
    unsigned number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, fault] = std::from_chars(text.data(), end, number);
    if (fault != std::errc{} || stopped != end || number < least || number > most) {
        refuse();
    }
    return number;
}

int listen_at(int family, const void* address, socklen_t bytes) {
    const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    // No SO_REUSEPORT: a server that was left over must not take half of the connections.
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd, static_cast<const sockaddr*>(address), bytes) != 0 ||
        ::listen(fd, backlog) != 0) {
        fail("listen");
    }
    return fd;
}

int listen_unix(std::string_view path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        refuse();
    }
    path.copy(address.sun_path, path.size());
    const int fd = listen_at(AF_UNIX, &address, sizeof address);
    std::fprintf(stderr, "listening on unix:%s\n", address.sun_path);
    return fd;
}

int listen_tcp(unsigned port) {
    sockaddr_in address{};
    socklen_t bytes = sizeof address;
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = listen_at(AF_INET, &address, bytes);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // connections inherit it
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes);
    std::fprintf(stderr, "listening on http://127.0.0.1:%d/mcp\n", ntohs(address.sin_port));
    return fd;
}

void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view io = argc == 4 || argc == 6 ? argv[1] : "";
    if (io != "uring" && io != "epoll") {
        refuse();
    }
    const std::string_view where = argv[2];
    plan how;
    how.answer = make_answer(read_number(argv[3], 1, number_max));
    if (how.answer.empty()) {
        std::fputs("floor-server: an answer has a head and a body, 100 bytes at least\n", stderr);
        return 2;
    }
    if (argc == 6) {
        how.buffers = read_number(argv[4], 1, 32768);
        how.buffer_bytes = read_number(argv[5], 1024, 1U << 24U);
    }
    if (!std::has_single_bit(how.buffers)) {
        refuse();
    }
    raise_descriptor_limit();
    how.listener = where.starts_with(unix_scheme) ? listen_unix(where.substr(unix_scheme.size()))
                                                  : listen_tcp(read_number(where, 0, 65535));
    if (io == "uring") {
        serve_uring(how);
    }
    serve_epoll(how);
}
