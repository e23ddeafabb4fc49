#include "io/listener.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/limits.hpp"
#include "io/handshakes.hpp"

namespace pillion::io {

namespace {

int open_reserve() noexcept { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

listener::listener(reactor& on, int listen_fd, connection_sink& sink) noexcept
    : reactor_(on), sink_(sink), listen_fd_(listen_fd) {
    portion_.run = [](coro::ready_node& node) noexcept {
        static_cast<portion_node&>(node).owner->next_portion();  // may destroy it
    };
}

listener::~listener() {
    if (reserve_fd_ >= 0) {
        ::close(reserve_fd_);
    }
}

void listener::start() noexcept {
    reserve_fd_ = open_reserve();
    waiting_.reserve(waiting_max);
    arm();
}

void listener::arm() noexcept { reactor_.ops().accept(accept_, listen_fd_); }

void listener::close(std::int64_t last_ms, std::int64_t most_ms, bool alone) noexcept {
    // The time of this turn may be long ago, and nothing of what was asked for would be left then.
    const std::int64_t now_ns = reactor_.clock_ns();
    const std::int64_t most_ns = now_ns + most_ms * base::ns_per_ms;
    most_ns_ = closing_ ? std::min(most_ns_, most_ns) : most_ns;
    last_ms_ = closing_ ? std::min(last_ms_, last_ms) : last_ms;
    if (!closing_) {
        closing_ = true;
        alone_ = alone;
        // In place of a rest, if it rests: the timer brings the news from a later turn.
        reactor_.timers().arm(timer_, now_ns + last_ms * base::ns_per_ms);
    }
}

void listener::end() noexcept {
    ending_ = true;
    if (accept_.in_flight) {
        return reactor_.ops().cancel(accept_);
    }
    finish();  // may destroy this
}

// No accept is in flight any more.
void listener::finish() noexcept {
    if (portion_.queued) {
        finished_ = true;  // its turn comes
        return;
    }
    take_waiting(waiting_max);
    // Asked before the queue is emptied: who is under way no longer is in it by then.
    const bool waits = alone_ && is_waited_for();
    take_rest();
    if (waits) {
        return reactor_.arm_in_ms(timer_, deaf_look_ms);
    }
    sink_.on_listener_closed();  // may destroy this
}

// Who connects between the last accept and the end of the socket would be reset, and who is
// half-way then as well: so the socket becomes deaf, and they have a moment. Where new handshakes
// could be ignored before, there is none left.
bool listener::is_waited_for() noexcept {
    if (!deaf_) {
        deaf_ = true;
        drop_handshakes(listen_fd_);
        deaf_until_ns_ = reactor_.clock_ns() + last_ms_ * base::ns_per_ms;
    }
    return reactor_.clock_ns() < deaf_until_ns_ && handshakes_under_way(listen_fd_);
}

// Nothing accepts any more; what the system has queued until now is the last.
void listener::take_rest() noexcept {
    for (int i = 0; i < rest_max; ++i) {
        const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            if (alone_) {
                hear_again(fd);
            }
            take(fd);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

void listener::on_accept(op& self, const completion& what) noexcept {
    static_cast<accept_op&>(self).owner->handle(what.res, what.more);
}

void listener::handle(std::int32_t res, bool more) noexcept {
    if (res >= 0) {
        came(res);
    } else if (res != -ECANCELED) {
        ++failed_;
    }
    if (more) {
        return;
    }
    if (ending_) {
        return finish();  // may destroy this
    }
    if (paused_ && !waiting_.empty()) {
        return;  // until they have been taken
    }
    paused_ = false;
    switch (res < 0 ? -res : 0) {
        case 0:
        case ECONNABORTED:  // the client gave up while it waited
        case EINTR:
        case EAGAIN:
        case EPROTO:
        case ECANCELED:  // the end of a pause
            return arm();
        case EMFILE:
        case ENFILE:
            spend_reserve();
            break;
        default:
            break;
    }
    // Out of something, or a fault that will not go away at once: do not spin on it. While closing
    // the timer is armed for the end, which tries once more.
    if (!closing_) {
        reactor_.arm_in_ms(timer_, rest_ms);
    }
}

bool listener::busy() const noexcept {
    return last_ns_ > reactor_.now_ns() - limits::listener_busy_ms * base::ns_per_ms;
}

void listener::came(int fd) noexcept {
    last_ns_ = reactor_.now_ns();
    if (turn_ != reactor_.turns()) {
        turn_ = reactor_.turns();
        taken_ = 0;
    }
    if (waiting_.empty() && taken_ < portion) {
        ++taken_;
        return take(fd);
    }
    if (waiting_.size() == waiting_max) {  // there is no room for more, but perhaps at the front
        waiting_.erase(waiting_.begin(), waiting_.begin() + std::ptrdiff_t(waiting_from_));
        waiting_from_ = 0;
    }
    if (waiting_.size() == waiting_max) {
        ++refused_;
        return reactor_.ops().close(fd);
    }
    waiting_.push_back(fd);
    if (!portion_.queued) {
        portion_.queued = true;
        coro::ready_queue::current().push(portion_);
    }
    if (waiting_.size() - waiting_from_ >= waiting_pause && !paused_ && !ending_) {
        paused_ = true;
        reactor_.ops().cancel(accept_);
    }
}

void listener::take_waiting(std::size_t most) noexcept {
    for (; most > 0 && waiting_from_ < waiting_.size(); --most) {
        take(waiting_[waiting_from_++]);
    }
    if (waiting_from_ == waiting_.size()) {
        waiting_.clear();
        waiting_from_ = 0;
    }
}

void listener::next_portion() noexcept {
    portion_.queued = false;
    if (finished_) {
        return finish();  // may destroy this
    }
    take_waiting(portion);
    if (!waiting_.empty()) {
        portion_.queued = true;
        coro::ready_queue::current().push(portion_);
    } else if (paused_ && !accept_.in_flight) {
        paused_ = false;
        arm();
    }
}

void listener::take(int fd) noexcept {
    if (!sink_.wants_connection()) {
        ++refused_;
        reactor_.ops().close(fd);
    } else {
        ++accepted_;
        sink_.on_connection(fd);
    }
}

// With no descriptor left, waiting clients would hang until one is free. The reserve lets the
// first of them be turned away at once.
void listener::spend_reserve() noexcept {
    if (reserve_fd_ >= 0) {
        ::close(std::exchange(reserve_fd_, -1));
        // Only a socket that cannot block is asked; an inherited one was made non-blocking.
        const int refused = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (refused >= 0) {
            ++refused_;
            ::close(refused);
        }
    }
    reserve_fd_ = open_reserve();
}

void listener::on_timer(timer&, void* owner) noexcept {
    auto& me = *static_cast<listener*>(owner);
    if (!me.closing_) {
        return me.arm();
    }
    if (me.reactor_.clock_ns() < me.most_ns_ && handshakes_under_way(me.listen_fd_)) {
        return me.reactor_.arm_in_ms(me.timer_, half_way_look_ms);
    }
    me.end();  // may destroy it
}

}  // namespace pillion::io
