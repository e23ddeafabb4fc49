#include "process/child.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/assert.hpp"

namespace pillion::process {

namespace {

constexpr std::int64_t pause_ms_max = 100;

void close_one(int& fd) noexcept {
    if (fd >= 0) {
        ::close(fd);
        fd = -1;
    }
}

// The ends of three pipes, none of them where the child wants its own.
struct pipes {
    int theirs[3] = {-1, -1, -1};
    int ours[3] = {-1, -1, -1};

    ~pipes() {
        for (int i = 0; i < 3; ++i) {
            close_one(theirs[i]);
            close_one(ours[i]);
        }
    }
    // From the first one on that is wanted.
    bool open(int first) {
        for (int i = first; i < 3; ++i) {
            int both[2] = {-1, -1};
            if (::pipe2(both, O_CLOEXEC) != 0) {
                return false;
            }
            for (int& end : both) {
                if (end < 3) {
                    const int moved = ::fcntl(end, F_DUPFD_CLOEXEC, 3);
                    ::close(end);
                    end = moved;
                }
            }
            // It reads the first pipe and writes the others.
            theirs[i] = both[i == 0 ? 0 : 1];
            ours[i] = both[i == 0 ? 1 : 0];
            if (theirs[i] < 0 || ours[i] < 0) {
                return false;
            }
        }
        return true;
    }
};

std::vector<char*> pointers_to(const std::vector<std::string>& all) {
    std::vector<char*> to;
    for (const std::string& one : all) {
        to.push_back(const_cast<char*>(one.c_str()));
    }
    to.push_back(nullptr);
    return to;
}

// Where a program is: by our own PATH, as a shell would find it.
std::string find_program(const std::string& name) {
    if (name.find('/') != name.npos) {
        return name;
    }
    const char* const path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
    for (bool more = true; more;) {
        const std::size_t colon = rest.find(':');
        const std::string file = std::string(rest.substr(0, colon)) + "/" + name;
        struct stat what{};
        if (file.front() == '/' && ::access(file.c_str(), X_OK) == 0 &&
            ::stat(file.c_str(), &what) == 0 && S_ISREG(what.st_mode)) {
            return file;
        }
        more = colon != rest.npos;
        rest.remove_prefix(more ? colon + 1 : rest.size());
    }
    return {};
}

// What the child needs until it is another program; all of it made before.
struct plan {
    const char* program;
    char* const* argv;
    char* const* environment;
    const char* folder;  // null: ours
    const int* ends;
    const resource_limits* limits;
    pid_t parent;
};

// Both the soft and the hard limit; false: it may not be set.
bool limit(int which, std::uint64_t to) noexcept {
    rlimit both{};
    both.rlim_cur = to;
    both.rlim_max = to;
    return to == 0 || ::setrlimit(static_cast<__rlimit_resource>(which), &both) == 0;
}

bool limit_all(const resource_limits& to) noexcept {
    return limit(RLIMIT_CPU, to.cpu_seconds) && limit(RLIMIT_AS, to.memory_bytes) &&
           limit(RLIMIT_FSIZE, to.file_bytes) && limit(RLIMIT_NOFILE, to.open_files);
}

// In the child, which shares our memory until exec (vfork(2)): system calls only. Returns the errno
// of what failed, and does not return when all is well.
int become(const plan& what) noexcept {
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    // Ignored signals stay so over exec, ours and those of whoever started us.
    for (int number = 1; number < NSIG; ++number) {
        ::sigaction(number, &usual, nullptr);
    }
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Else a program with privileges would lose the line above at its start (prctl(2)).
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::getppid() != what.parent) {
        return ESRCH;  // we were gone before that counted
    }
    for (int i = 0; i < 3; ++i) {
        // One that is in its place already would be closed by exec.
        const bool there = what.ends[i] == i;
        if (there ? ::fcntl(i, F_SETFD, 0) != 0 : ::dup2(what.ends[i], i) < 0) {
            return errno;
        }
    }
    if (what.folder != nullptr && ::chdir(what.folder) != 0) {
        return errno;
    }
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    if (!limit_all(*what.limits) || ::syscall(SYS_close_range, 3U, ~0U, 0U) != 0) {
        return errno;
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(what.program, what.argv, what.environment);
    return errno;
}

void reap(pid_t pid) noexcept {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

// The process of the plan, or -1 with the errno of what failed. A function of its own: what
// vfork(2) may leave undefined in its caller is not there.
[[gnu::noinline]] pid_t begin(const plan& how, int& os_errno) noexcept {
    // No handler of ours may run in the child, which has our memory.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    volatile int failed = 0;
    const pid_t pid = ::vfork();
    if (pid == 0) {
        failed = become(how);
        ::_exit(127);
    }
    os_errno = pid < 0 ? errno : failed;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid > 0 && os_errno != 0) {
        reap(pid);
        return -1;
    }
    return pid;
}

// Of a process group that may be gone.
void signal_group(pid_t leader, int number) noexcept { ::kill(-leader, number); }

}  // namespace

std::string signal_name(int number) {
    const char* const name = ::sigabbrev_np(number);
    return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

std::string describe(const exit_status& how) {
    return how.signal != 0 ? "it was killed by " + signal_name(how.signal)
                           : "it ended with code " + std::to_string(how.code);
}

child::~child() {
    PILLION_ASSERT(!running());
    for (int i = 0; i < 3; ++i) {
        close_end(i);
    }
}

// The loop may know the descriptor, and must forget it with its end.
void child::close_end(int which) noexcept {
    if (ends_[which] >= 0) {
        loop_.ops().close(std::exchange(ends_[which], -1));
    }
}

bool child::start(const start_options& what, std::string& fault) {
    PILLION_ASSERT(!running() && !what.argv.empty());
    const std::string program = find_program(what.argv[0]);
    if (program.empty()) {
        fault = "it is not in PATH";
        return false;
    }
    pipes made;
    const bool given = what.input_fd >= 0;
    if (!made.open(given ? 1 : 0)) {
        fault = std::string("no pipe: ") + std::strerror(errno);
        return false;
    }
    const int theirs[3] = {given ? what.input_fd : made.theirs[0], made.theirs[1], made.theirs[2]};
    const std::vector<char*> argv = pointers_to(what.argv);
    const std::vector<char*> environment = pointers_to(what.environment);
    const plan how{program.c_str(),
                   argv.data(),
                   environment.data(),
                   what.folder.empty() ? nullptr : what.folder.c_str(),
                   theirs,
                   &what.limits,
                   ::getpid()};
    int os_errno = 0;
    pid_ = begin(how, os_errno);
    if (pid_ < 0) {
        fault = std::string("it cannot be run: ") + std::strerror(os_errno);
        return false;
    }
    std::copy(std::begin(made.ours), std::end(made.ours), ends_);
    std::fill(std::begin(made.ours), std::end(made.ours), -1);
    loop_.arm_in_ms(look_, pause_ms_);
    return true;
}

void child::close_input() noexcept { close_end(0); }

void child::terminate(std::int64_t kill_after_ms) noexcept {
    if (!running() || (asked_ && kill_after_ms > 0)) {
        return;
    }
    asked_ = true;
    signal_group(pid_, kill_after_ms > 0 ? SIGTERM : SIGKILL);
    if (kill_after_ms > 0) {
        loop_.arm_in_ms(kill_, kill_after_ms);
    }
    look();
}

void child::look() noexcept {
    if (running()) {
        pause_ms_ = 1;
        loop_.arm_in_ms(look_, pause_ms_);
    }
}

void child::on_kill(io::timer& /*self*/, void* owner) noexcept {
    auto& me = *static_cast<child*>(owner);
    if (me.running()) {
        signal_group(me.pid_, SIGKILL);
        me.look();
    }
}

void child::on_look(io::timer& self, void* owner) noexcept {
    auto& me = *static_cast<child*>(owner);
    siginfo_t what{};
    const int got = ::waitid(P_PID, static_cast<id_t>(me.pid_), &what, WEXITED | WNOHANG | WNOWAIT);
    if (got != 0 || what.si_pid == 0) {
        me.pause_ms_ = std::min(2 * me.pause_ms_, pause_ms_max);
        return me.loop_.arm_in_ms(self, me.pause_ms_);
    }
    // While the leader is not reaped, nobody else can have the number of its group.
    signal_group(me.pid_, SIGKILL);
    reap(me.pid_);
    me.kill_.cancel();
    me.pid_ = -1;
    exit_status how;
    const bool by_itself = what.si_code == CLD_EXITED;
    how.code = by_itself ? what.si_status : 0;
    how.signal = by_itself ? 0 : what.si_status;
    me.watcher_.on_exit(how);
}

}  // namespace pillion::process
