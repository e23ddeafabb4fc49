#include "attackers.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace hostile {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::size_t large_bytes = 900'000;

struct refusal {
    std::string request;
    int status;
};

refusal refusal_of(const std::string& kind) {
    const std::string body = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    if (kind == "rate") {
        return {post("", R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{)"
                         R"("protocolVersion":"2025-06-18","capabilities":{},)"
                         R"("clientInfo":{"name":"flood","version":"1"}}})"),
                429};
    }
    if (kind == "path") {
        std::string text = post("", body);
        return {text.replace(text.find("/mcp"), 4, "/no"), 404};
    }
    if (kind == "origin") {
        return {post("Origin: https://evil.example\r\n", body), 403};
    }
    if (kind == "session") {
        return {post("MCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: nobody\r\n", body), 404};
    }
    if (kind == "size") {
        return {
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\n"
            "Content-Length: 99999999\r\n\r\n",
            413};
    }
    fail("unknown kind of refusal");
}

}  // namespace

attackers::attackers(const attack_plan& plan)
    : plan_(plan), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    const refusal wanted = refusal_of(plan_.kind);
    request_ = wanted.request;
    status_ = wanted.status;
    slow_head_ = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + std::string(4000, 's');
    slow_body_ =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        "Content-Length: 100000\r\n\r\n" +
        std::string(4000, ' ');
    const int flooders = plan_.flood_per_s > 0 ? plan_.flood_connections : 0;
    if (plan_.uploads > 0) {
        large_ = post("", R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":")" +
                              std::string(large_bytes, 'x') + "\"}}");
    }
    const int first_upload = plan_.slow + plan_.stalled + flooders;
    const auto total = static_cast<std::size_t>(first_upload + plan_.uploads);
    all_.resize(total);
    for (std::size_t i = 0; i < total; ++i) {
        const int n = static_cast<int>(i);
        all_[i].what = n < plan_.slow                   ? role::slow
                       : n < plan_.slow + plan_.stalled ? role::stalled
                       : n < first_upload               ? role::flood
                                                        : role::upload;
        open(i);
    }
}

attackers::~attackers() {
    for (const one& a : all_) {
        if (a.fd >= 0) {
            ::close(a.fd);
        }
    }
    ::close(epoll_);
}

void attackers::open(std::size_t i) {
    one& a = all_[i];
    a.busy = false;
    a.answers.clear();
    dial_options how;
    how.host = 2 + static_cast<int>(a.what);
    how.patient = false;
    how.small = a.what == role::stalled;
    a.fd = dial(plan_.port, how);
    if (a.fd < 0) {
        return;
    }
    epoll_event event{};
    event.events = a.what == role::flood ? EPOLLIN | EPOLLRDHUP : EPOLLRDHUP;
    event.data.u64 = i;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, a.fd, &event);
    switch (a.what) {
        case role::slow: {
            // All but the head's end, or the head of a body, comes at once: what matters is that
            // the server holds something while it waits.
            const std::string& text = i % 2 == 0 ? slow_head_ : slow_body_;
            a.at = i % 2 == 0 ? 60 : text.find("\r\n\r\n") + 4;
            send_all(a.fd, std::string_view(text).substr(0, a.at));
            // Spread over the second.
            a.due_ns = now_ns() + static_cast<std::int64_t>(std::rand() % 1000) * 1'000'000;
            return;
        }
        case role::stalled:
            send_all(a.fd, listen(plan_.uri));
            return;
        case role::flood:
            free_.push_back(i);
            return;
        case role::upload:
            a.at = 0;
            return;
    }
}

void attackers::ended(std::size_t i) {
    one& a = all_[i];
    if (a.what == role::slow) {
        ++report_.slow_cut;
    } else if (a.what == role::stalled) {
        ++report_.stalled_cut;
    } else if (a.what == role::flood && !a.busy) {
        std::erase(free_, i);
    }
    ::close(a.fd);
    open(i);
}

void attackers::drip(std::int64_t now) {
    for (int n = 0; n < plan_.slow; ++n) {
        const auto i = static_cast<std::size_t>(n);
        one& a = all_[i];
        if (a.fd < 0 || now < a.due_ns) {
            continue;
        }
        a.due_ns += second_ns;
        const std::string& text = i % 2 == 0 ? slow_head_ : slow_body_;
        if (a.at < text.size() && send_all(a.fd, std::string_view(text).substr(a.at, 1))) {
            ++a.at;
            ++report_.drips;
        } else {
            ended(i);
        }
    }
}

void attackers::flood(std::int64_t now) {
    if (flood_from_ns_ == 0) {
        flood_from_ns_ = now;
    }
    const auto due = static_cast<std::uint64_t>(static_cast<double>(now - flood_from_ns_) *
                                                plan_.flood_per_s / 1e9);
    for (; flooded_ < due; ++flooded_) {
        if (free_.empty()) {
            ++report_.flood_late;
            continue;
        }
        // The one that waited longest: the flood goes over all connections.
        const std::size_t i = free_.front();
        free_.erase(free_.begin());
        one& a = all_[i];
        a.busy = true;
        if (send_all(a.fd, request_)) {
            ++report_.flood_sent;
        } else {
            ended(i);
        }
    }
}

// As much as each socket takes. What is answered is read, and not looked at.
void attackers::upload() {
    for (one& a : all_) {
        if (a.what != role::upload || a.fd < 0) {
            continue;
        }
        char part[4096];
        while (::recv(a.fd, part, sizeof part, MSG_DONTWAIT) > 0) {
        }
        ssize_t bytes = 0;
        while ((bytes = ::send(a.fd, large_.data() + a.at, large_.size() - a.at,
                               MSG_DONTWAIT | MSG_NOSIGNAL)) > 0) {
            a.at += static_cast<std::size_t>(bytes);
            if (a.at == large_.size()) {
                a.at = 0;
                ++report_.uploaded;
                break;
            }
        }
    }
}

void attackers::event(std::size_t i) {
    one& a = all_[i];
    if (a.what != role::flood) {
        return ended(i);
    }
    char part[4096];
    const ssize_t bytes = ::recv(a.fd, part, sizeof part, MSG_DONTWAIT);
    if (bytes < 0 && errno == EAGAIN) {
        return;
    }
    if (bytes <= 0) {
        return ended(i);
    }
    a.answers.add(part, static_cast<std::size_t>(bytes));
    if (!a.answers.next()) {
        return;
    }
    (a.answers.status() == status_ ? report_.flood_refused : report_.flood_other) += 1;
    if (a.answers.closes()) {
        return ended(i);
    }
    a.busy = false;
    free_.push_back(i);
}

void attackers::step(std::int64_t now) {
    drip(now);
    if (plan_.flood_per_s > 0) {
        flood(now);
    }
    if (plan_.uploads > 0) {
        upload();
    }
    epoll_event events[256];
    const int count = ::epoll_wait(epoll_, events, 256, 0);
    for (int n = 0; n < count; ++n) {
        event(static_cast<std::size_t>(events[n].data.u64));
    }
}

}  // namespace hostile
