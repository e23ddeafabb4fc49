#include "io/signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <ucontext.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.hpp"

namespace pillion::io {

namespace {

constexpr int watched_signals[] = {SIGTERM, SIGINT, SIGHUP};

sigset_t watched() noexcept {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : watched_signals) {
        ::sigaddset(&set, number);
    }
    return set;
}

std::atomic<pid_t> receiver{0};  // the process that has the signalfd

// In a thread that does not block it. From its return on the thread does (that mask comes back into
// force), and the signal waits for the signalfd, like any other of the process.
void pass_on(int number, siginfo_t* /*what*/, void* context) {
    const int errno_before = errno;
    if (::getpid() != receiver.load(std::memory_order_relaxed)) {
        // A child that was forked without execve(2) has inherited this, but nobody who would read.
        ::signal(number, SIG_DFL);
        ::kill(::getpid(), number);
        errno = errno_before;
        return;
    }
    sigset_t& mask = static_cast<ucontext_t*>(context)->uc_sigmask;
    for (const int one : watched_signals) {
        ::sigaddset(&mask, one);
    }
    ::kill(::getpid(), number);
    errno = errno_before;
}

}  // namespace

void signal_watch::block() noexcept {
    const sigset_t set = watched();
    receiver.store(::getpid(), std::memory_order_relaxed);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    struct sigaction how{};
    how.sa_sigaction = &pass_on;
    how.sa_mask = set;
    how.sa_flags = SA_SIGINFO | SA_RESTART;
    for (const int number : watched_signals) {
        struct sigaction before{};
        if (::sigaction(number, nullptr, &before) == 0 &&
            (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
            ::sigaction(number, &how, nullptr);
        }
    }
    ::signal(SIGPIPE, SIG_IGN);
    // Whoever started us may ignore it, which is kept over execve(2): then the system reaps our
    // children, and their ends are never seen (waitid(2)). A handler of the program's own stays.
    struct sigaction child{};
    if (::sigaction(SIGCHLD, nullptr, &child) == 0 &&
        (child.sa_handler == SIG_IGN || (child.sa_flags & SA_NOCLDWAIT) != 0)) {
        child.sa_handler = child.sa_handler == SIG_IGN ? SIG_DFL : child.sa_handler;
        child.sa_flags &= ~SA_NOCLDWAIT;
        ::sigaction(SIGCHLD, &child, nullptr);
    }
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
