#include "listeners.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <utility>

namespace hostile {

namespace {

constexpr std::string_view notice = "notifications/resources/updated\"";
constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace

listeners::listeners(int port, int streams, double changes_per_s, std::string uri)
    : port_(port),
      period_ns_(changes_per_s > 0 ? 1e9 / changes_per_s : 0),
      change_(call("test_touch_resource", R"({"uri":")" + uri + R"("})")),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    control_ = dial(port_);
    for (int i = 0; i < streams; ++i) {
        const int fd = dial(port_);
        if (i % 2 == 0) {
            ask(fd, listen(uri), listen_granted);
        } else {
            const std::string session = open_session(fd);
            ask(fd,
                post("MCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: " + session + "\r\n",
                     R"({"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":")" +
                         uri + R"("}})"),
                "\"result\":{}}");
            ask(fd, get_stream(session), "\r\n\r\n");
        }
        add(fd);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
        epoll_event event{};
        event.events = EPOLLIN | EPOLLRDHUP;
        event.data.u64 = i;
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, all_[i].fd, &event);
    }
}

listeners::~listeners() {
    for (const stream& s : all_) {
        if (s.fd >= 0) {
            ::close(s.fd);
        }
    }
    ::close(control_);
    ::close(epoll_);
}

void listeners::add(int fd) {
    stream s;
    s.fd = fd;
    all_.push_back(std::move(s));
}

void listeners::end(stream& s, bool reset) {
    if (!reset && s.tail.ends_with(last_chunk)) {
        ++report_.ended;
    } else {
        ++report_.broken;
    }
    ::close(std::exchange(s.fd, -1));
}

void listeners::read(stream& s) {
    char part[16 * 1024];
    for (;;) {
        const ssize_t bytes = ::recv(s.fd, part, sizeof part, MSG_DONTWAIT);
        if (bytes < 0 && errno == EAGAIN) {
            return;
        }
        if (bytes <= 0) {
            return end(s, bytes < 0);
        }
        // A message may be cut anywhere.
        s.tail.append(part, static_cast<std::size_t>(bytes));
        std::size_t from = 0;
        for (std::size_t at; (at = s.tail.find(notice, from)) != std::string::npos;) {
            from = at + notice.size();
            ++s.heard;
        }
        const std::size_t keep = std::min(s.tail.size() - from, notice.size());
        s.tail.erase(0, s.tail.size() - keep);
    }
}

void listeners::step(std::int64_t now, bool publishing) {
    if (publishing && period_ns_ > 0 && !asked_ && now >= next_ns_) {
        next_ns_ = std::max(next_ns_ + static_cast<std::int64_t>(period_ns_), now);
        asked_ = send_all(control_, change_);
    }
    if (asked_) {
        char part[4096];
        const ssize_t bytes = ::recv(control_, part, sizeof part, MSG_DONTWAIT);
        if (bytes > 0) {
            answers_.add(part, static_cast<std::size_t>(bytes));
        }
        if (answers_.next()) {
            asked_ = false;
            ++report_.changes;
        }
    }
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_, events, 64, 0);
    for (int i = 0; i < count; ++i) {
        read(all_[events[i].data.u64]);
    }
}

listen_report listeners::report() const {
    listen_report r = report_;
    r.heard_min = all_.empty() ? r.changes : UINT64_MAX;
    for (const stream& s : all_) {
        r.heard_max = std::max(r.heard_max, s.heard);
        r.heard_min = std::min(r.heard_min, s.heard);
    }
    return r;
}

}  // namespace hostile
