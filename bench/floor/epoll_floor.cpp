#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>

#include "canned.hpp"
#include "floor.hpp"

namespace pillion::floor {

namespace {

constexpr std::size_t input_bytes = 128 * 1024;
constexpr int events_max = 512;

class epoll_server {
 public:
    explicit epoll_server(const plan& how) : how_(how), input_(input_bytes) {
        // io_uring would not wait for such a socket.
        ::fcntl(how.listener, F_SETFL, O_NONBLOCK);
        watch(how.listener, EPOLLIN);
    }

    void turn() {
        epoll_event events[events_max];
        const int count = ::epoll_wait(epoll_, events, events_max, -1);
        for (int i = 0; i < count; ++i) {
            const int fd = events[i].data.fd;
            if (fd == how_.listener) {
                accept_all();
                continue;
            }
            if ((events[i].events & EPOLLOUT) != 0) {
                send_rest(fd);
            }
            if ((events[i].events & ~std::uint32_t{EPOLLOUT}) != 0) {
                receive(fd);
            }
        }
    }

 private:
    void watch(int fd, std::uint32_t for_what) const {
        epoll_event event{};
        event.events = for_what;
        event.data.fd = fd;
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
            fail("epoll_ctl");
        }
    }

    void accept_all() {
        for (int fd = 0; (fd = ::accept4(how_.listener, nullptr, nullptr,
                                         SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
            const int on = 1;
            // Not for a unix socket, which has nothing to delay.
            static_cast<void>(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
            peers_.add(fd);
            watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
        }
    }

    void send_rest(int fd) {
        peer& p = peers_[fd];
        if (p.unsent > 0) {
            send_from(fd, p, how_.answer.size() - p.unsent);
        }
    }

    void send_from(int fd, peer& p, std::size_t at) const {
        const ssize_t sent =
            ::send(fd, how_.answer.data() + at, how_.answer.size() - at, MSG_NOSIGNAL);
        p.unsent = how_.answer.size() - at - static_cast<std::size_t>(sent > 0 ? sent : 0);
    }

    void receive(int fd) {
        peer& p = peers_[fd];
        while (true) {
            const ssize_t bytes = ::read(fd, input_.data(), input_.size());
            if (bytes < 0 && errno == EAGAIN) {
                return;
            }
            if (bytes <= 0 || !count(fd, p, static_cast<std::size_t>(bytes))) {
                ::close(fd);
                return;
            }
            if (static_cast<std::size_t>(bytes) < input_.size()) {
                return;  // drained: the edge fires again
            }
        }
    }

    bool count(int fd, peer& p, std::size_t bytes) {
        if (p.request == 0) {
            p.request = request_bytes({input_.data(), bytes});
        }
        p.got += bytes;
        while (p.request > 0 && p.got >= p.request) {
            p.got -= p.request;
            send_from(fd, p, 0);
        }
        return p.request > 0;
    }

    const plan& how_;
    int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    std::vector<char> input_;
    peers peers_;
};

}  // namespace

void serve_epoll(const plan& how) {
    epoll_server server(how);
    while (true) {
        server.turn();
    }
}

}  // namespace pillion::floor
