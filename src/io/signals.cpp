#include "io/signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.hpp"

namespace pillion::io {

namespace {

sigset_t watched() noexcept {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGHUP);
    return set;
}

}  // namespace

void signal_watch::block() noexcept {
    const sigset_t set = watched();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

bool signal_watch::end_is_pending() noexcept {
    sigset_t pending;
    return ::sigpending(&pending) == 0 &&
           (::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1);
}

signal_watch::signal_watch(reactor& on, base::unique_function<void(int)> on_signal) noexcept
    : reactor_(on), on_signal_(std::move(on_signal)) {
    static_assert(sizeof(signalfd_siginfo) == sizeof info_);
}

signal_watch::~signal_watch() { PILLION_ASSERT(closed()); }

bool signal_watch::start() noexcept {
    const sigset_t set = watched();
    // Blocking on purpose: the backend waits for it to become readable in either case, and older
    // kernels do not poll a non-blocking signalfd for io_uring.
    fd_ = ::signalfd(-1, &set, SFD_CLOEXEC);
    if (fd_ < 0) {
        return false;
    }
    arm();
    return true;
}

void signal_watch::arm() noexcept { reactor_.ops().read(read_, fd_, info_, sizeof info_); }

void signal_watch::close() noexcept {
    if (!closed() && !closing_) {
        closing_ = true;
        reactor_.ops().cancel(read_);
    }
}

void signal_watch::on_read(op& self, const completion& what) noexcept {
    static_cast<read_op&>(self).owner->read_done(what.res);
}

void signal_watch::read_done(std::int32_t res) noexcept {
    if (closing_) {
        return reactor_.ops().close(std::exchange(fd_, -1));
    }
    if (res == static_cast<std::int32_t>(sizeof info_)) {
        signalfd_siginfo info;
        std::memcpy(&info, info_, sizeof info);
        arm();
        on_signal_(static_cast<int>(info.ssi_signo));
        return;
    }
    // Only a passing failure is tried again, anything else would spin.
    if (res == -EINTR || res == -EAGAIN) {
        return arm();
    }
    reactor_.ops().close(std::exchange(fd_, -1));
}

}  // namespace pillion::io
