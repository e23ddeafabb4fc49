#include "child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/assert.hpp"

namespace pillion::load {

namespace {

struct pipe_ends {
    int read = -1;
    int write = -1;

    int open() noexcept {
        int both[2];
        if (::pipe2(both, O_CLOEXEC) != 0) {
            return errno;
        }
        read = both[0];
        write = both[1];
        return 0;
    }
    void close() const noexcept {
        ::close(read);
        ::close(write);
    }
};

int spawn(const std::vector<std::string>& words, const pipe_ends& in, const pipe_ends& out,
          pid_t& pid) noexcept {
    std::vector<char*> arguments;
    for (const std::string& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&how);
    ::posix_spawn_file_actions_adddup2(&files, in.read, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, out.write, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // What we ignore it would ignore as well.
    sigset_t usual;
    ::sigemptyset(&usual);
    for (const int number : {SIGPIPE, SIGINT, SIGTERM}) {
        ::sigaddset(&usual, number);
    }
    ::posix_spawnattr_setsigdefault(&how, &usual);
    ::posix_spawnattr_setpgroup(&how, 0);
    ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    const int failure = ::posix_spawnp(&pid, arguments[0], &files, &how, arguments.data(), environ);
    ::posix_spawnattr_destroy(&how);
    ::posix_spawn_file_actions_destroy(&files);
    return failure;
}

}  // namespace

child_process::~child_process() { PILLION_ASSERT(!running()); }

int child_process::start(const std::vector<std::string>& words) noexcept {
    PILLION_ASSERT(!running());
    pipe_ends in;
    pipe_ends out;
    if (const int failure = in.open()) {
        return failure;
    }
    if (const int failure = out.open()) {
        in.close();
        return failure;
    }
    const int failure = spawn(words, in, out, pid_);
    if (failure != 0) {
        pid_ = -1;
        in.close();
        out.close();
        return failure;
    }
    ::close(in.read);
    ::close(out.write);
    input_ = in.write;
    output_ = out.read;
    return 0;
}

int child_process::take_input() noexcept { return std::exchange(input_, -1); }
int child_process::take_output() noexcept { return std::exchange(output_, -1); }

bool child_process::has_ended() noexcept {
    if (!running()) {
        return true;
    }
    int status = 0;
    const pid_t done = ::waitpid(pid_, &status, WNOHANG);
    if (done == 0 || (done < 0 && errno == EINTR)) {
        return false;
    }
    status_ = done > 0 ? std::optional(status) : std::nullopt;
    pid_ = -1;
    return true;
}

std::string child_process::end_text() const {
    PILLION_ASSERT(!running());
    if (!status_) {
        return "ended";
    }
    if (WIFSIGNALED(*status_)) {
        const int number = WTERMSIG(*status_);
        return "was ended by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
    }
    return "ended with exit code " + std::to_string(WEXITSTATUS(*status_));
}

void child_process::signal(int number) const noexcept {
    if (running()) {
        ::kill(-pid_, number);
    }
}

}  // namespace pillion::load
