#include "io/handshakes.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstdint>
#include <cstring>

#include "io/socket.hpp"

namespace pillion::io {

namespace {

struct question {
    nlmsghdr head;
    inet_diag_req_v2 what;
};

// The first message of the answer: an entry, or the end of an empty list.
bool any_found(int fd) noexcept {
    // A message of a list is no longer than 8 KiB or a page before its reader has shown more room.
    alignas(nlmsghdr) char answer[8192];
    const ssize_t bytes = ::recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    nlmsghdr first;
    if (bytes < static_cast<ssize_t>(sizeof first)) {
        return false;
    }
    std::memcpy(&first, answer, sizeof first);
    return first.nlmsg_type == SOCK_DIAG_BY_FAMILY;
}

// Packets with fewer hops left are dropped. 255 is the most there is; what a client's system sends
// begins with less (Linux: 64).
void hear_from(int fd, int hops_min) noexcept {
    ::setsockopt(fd, IPPROTO_IP, IP_MINTTL, &hops_min, sizeof hops_min);
    // Of a socket of IPv6.
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, &hops_min, sizeof hops_min);
}

}  // namespace

bool ignore_handshakes(int listen_fd) noexcept {
    // Drops segments with SYN: the flags are the 14th byte of the TCP header (RFC 9293 §3.1).
    constexpr std::uint32_t flags_at = 13;
    constexpr std::uint32_t syn = 2;
    constexpr std::uint32_t whole = UINT32_MAX;
    sock_filter steps[] = {
        {BPF_LD | BPF_B | BPF_ABS, 0, 0, flags_at},
        {BPF_JMP | BPF_JSET | BPF_K, 0, 1, syn},
        {BPF_RET | BPF_K, 0, 0, 0},
        {BPF_RET | BPF_K, 0, 0, whole},
    };
    const sock_fprog program{sizeof(steps) / sizeof(steps[0]), steps};
    return ::setsockopt(listen_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

void drop_handshakes(int listen_fd) noexcept { hear_from(listen_fd, 255); }

void hear_again(int fd) noexcept { hear_from(fd, 0); }

bool handshakes_under_way(int listen_fd) noexcept {
    int family = 0;
    socklen_t family_bytes = sizeof family;
    const std::uint16_t port = local_port(listen_fd);
    if (port == 0 || ::getsockopt(listen_fd, SOL_SOCKET, SO_DOMAIN, &family, &family_bytes) != 0) {
        return false;
    }
    const int fd = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) {
        return false;
    }
    question asked{};
    asked.head.nlmsg_len = sizeof asked;
    asked.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    asked.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    asked.what.sdiag_family = static_cast<std::uint8_t>(family);
    asked.what.sdiag_protocol = IPPROTO_TCP;
    asked.what.idiag_states = 1U << TCP_SYN_RECV;
    asked.what.id.idiag_sport = htons(port);
    asked.what.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    asked.what.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    // The list is made within these calls.
    const bool any =
        ::send(fd, &asked, sizeof asked, 0) == static_cast<ssize_t>(sizeof asked) && any_found(fd);
    ::close(fd);
    return any;
}

}  // namespace pillion::io
