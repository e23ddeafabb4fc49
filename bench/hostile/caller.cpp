#include "caller.hpp"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>

namespace hostile {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
// How long the last answers may take before they count as lost.
constexpr std::int64_t patience_ns = 15'000 * ns_per_ms;

}  // namespace

caller::caller(const call_plan& plan)
    : plan_(plan),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.ptr = nullptr;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_, &event);
    for (int i = 0; i < plan_.connections; ++i) {
        all_.push_back(std::make_unique<connection>());
        open(*all_.back());
    }
}

caller::~caller() {
    for (const auto& c : all_) {
        if (c->fd >= 0) {
            ::close(c->fd);
        }
    }
    ::close(timer_);
    ::close(epoll_);
}

bool caller::open(connection& c) {
    dial_options how;
    how.patient = report_.killed_ns == 0;
    c.fd = dial(plan_.port, how);
    if (c.fd < 0) {
        gone_ = true;
        return false;
    }
    c.answers.clear();
    c.busy = false;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.ptr = &c;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &event);
    idle_.push_back(&c);
    return true;
}

// The connection ended; a call that was under way on it is lost.
void caller::lose(connection& c) {
    if (c.busy) {
        ++report_.unanswered;
    } else {
        std::erase(idle_, &c);
    }
    c.busy = false;
    ::close(c.fd);
    c.fd = -1;
    if (!gone_ && now_ns() < end_ns_) {
        open(c);
    }
}

void caller::send_next(connection& c, std::int64_t due) {
    c.due_ns = due;
    c.measured = due >= count_from_ns_;
    c.busy = true;
    ++report_.sent;
    std::string text;
    if (plan_.deadline_ms_max != 0) {
        std::int64_t limit = plan_.deadline_ms_server;
        std::string header;
        if (plan_.deadline_ms_max > 0) {
            dice_ ^= dice_ << 13U;
            dice_ ^= dice_ >> 7U;
            dice_ ^= dice_ << 17U;
            limit = 1 + static_cast<std::int64_t>(
                            dice_ % static_cast<std::uint64_t>(plan_.deadline_ms_max));
            header = "X-Request-Timeout-Ms: " + std::to_string(limit) + "\r\n";
        }
        c.token = "-32004";
        text = call("test_slow", R"({"ms":60000})", header);
        // The client's view: from the moment of sending, so the way to the server counts as well.
        c.due_ns = now_ns() + limit * ns_per_ms;
    } else {
        c.token = "call-" + std::to_string(++serial_) + "-";
        text = call("echo", R"({"text":")" + c.token + std::string(90, 'x') + R"("})");
    }
    // As clients do that keep connections: one that has ended meanwhile is not used (RFC 9112
    // §9.3.1).
    char peeked = 0;
    if (::recv(c.fd, &peeked, 1, MSG_PEEK | MSG_DONTWAIT) == 0 || !send_all(c.fd, text)) {
        c.busy = false;
        --report_.sent;
        ++report_.refused;
        lose(c);
    }
}

void caller::start_due(std::int64_t now) {
    if (plan_.rate <= 0) {
        while (!idle_.empty() && now < end_ns_) {
            connection& c = *idle_.front();
            idle_.pop_front();
            send_next(c, now);
        }
        return;
    }
    while (!idle_.empty()) {
        const auto due =
            begin_ns_ + static_cast<std::int64_t>(static_cast<double>(next_) * 1e9 / plan_.rate);
        if (due > now || due >= end_ns_) {
            return;
        }
        ++next_;
        connection& c = *idle_.front();
        idle_.pop_front();
        send_next(c, due);
    }
}

void caller::take_answer(connection& c) {
    const std::int64_t now = now_ns();
    const int wanted = plan_.deadline_ms_max != 0 ? 504 : 200;
    ++report_.answered;
    if (!c.busy || c.answers.status() != wanted ||
        c.answers.body().find(c.token) == std::string_view::npos) {
        ++report_.wrong;
        std::fprintf(stderr, "wrong: %.*s\n", static_cast<int>(c.answers.head().size()),
                     c.answers.head().data());
    }
    if (c.measured) {
        report_.latency_ns.push_back(now - c.due_ns);
    }
    c.busy = false;
    idle_.push_back(&c);
}

void caller::read(connection& c) {
    char part[16 * 1024];
    for (;;) {
        const ssize_t bytes = ::recv(c.fd, part, sizeof part, MSG_DONTWAIT);
        if (bytes < 0 && errno == EAGAIN) {
            return;
        }
        if (bytes <= 0) {
            return lose(c);
        }
        c.answers.add(part, static_cast<std::size_t>(bytes));
        while (c.answers.next()) {
            take_answer(c);
            if (c.answers.closes()) {
                return lose(c);
            }
        }
        if (static_cast<std::size_t>(bytes) < sizeof part) {
            return;
        }
    }
}

void caller::kill_when_due(std::int64_t now) {
    if (plan_.kill_pid > 0 && report_.killed_ns == 0 &&
        now >= begin_ns_ + (end_ns_ - begin_ns_) / 2) {
        report_.killed_ns = now;
        ::kill(plan_.kill_pid, SIGTERM);
    }
}

void caller::arm_timer(std::int64_t at_ns) const {
    itimerspec when{};
    when.it_value.tv_sec = at_ns / 1'000'000'000;
    when.it_value.tv_nsec = at_ns % 1'000'000'000;
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

call_report caller::run() {
    begin_ns_ = now_ns();
    count_from_ns_ = begin_ns_ + static_cast<std::int64_t>(plan_.warm_up_s * 1e9);
    end_ns_ = count_from_ns_ + static_cast<std::int64_t>(plan_.seconds * 1e9);
    std::int64_t cpu_from = thread_cpu_ns();
    std::int64_t wall_from = begin_ns_;
    bool counting = false;
    for (;;) {
        const std::int64_t now = now_ns();
        if (!counting && now >= count_from_ns_) {
            counting = true;
            cpu_from = thread_cpu_ns();
            wall_from = now;
        }
        kill_when_due(now);
        start_due(now);
        const bool all_back =
            std::none_of(all_.begin(), all_.end(), [](const auto& c) { return c->busy; });
        const bool none_open =
            std::all_of(all_.begin(), all_.end(), [](const auto& c) { return c->fd < 0; });
        if ((now >= end_ns_ && all_back) || none_open) {
            break;
        }
        if (now >= end_ns_ + patience_ns) {
            break;
        }
        const auto due = begin_ns_ + static_cast<std::int64_t>(static_cast<double>(next_) * 1e9 /
                                                               std::max(plan_.rate, 1e-9));
        if (plan_.rate > 0 && due < end_ns_ && !idle_.empty()) {
            arm_timer(due);
        }
        epoll_event events[256];
        constexpr int at_most_ms = 20;
        const int count = ::epoll_wait(epoll_, events, 256, at_most_ms);
        for (int i = 0; i < count; ++i) {
            if (events[i].data.ptr != nullptr) {
                read(*static_cast<connection*>(events[i].data.ptr));
            }
        }
    }
    for (const auto& c : all_) {
        report_.unanswered += c->busy ? 1 : 0;
    }
    report_.cpu_s = static_cast<double>(thread_cpu_ns() - cpu_from) / 1e9;
    report_.wall_s = static_cast<double>(now_ns() - wall_from) / 1e9;
    std::sort(report_.latency_ns.begin(), report_.latency_ns.end());
    return std::move(report_);
}

}  // namespace hostile
