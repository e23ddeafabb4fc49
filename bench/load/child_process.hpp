// child_process: a server that was started as a child, its standard input and output being pipes.
//
// It is a process group of its own, so that a terminal's interrupt does not reach it, and is always
// reaped: whoever has ended it asks until it is gone. Its standard error goes nowhere.
// Thread: its shard.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pillion::load {

class child_process {
 public:
    child_process() = default;
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    // REQUIRES: not running.
    ~child_process();

    // Starts words[0], found along PATH. 0, or an errno.
    int start(const std::vector<std::string>& words) noexcept;
    bool running() const noexcept { return pid_ > 0; }
    pid_t pid() const noexcept { return pid_; }

    // Our ends of its pipes; who takes them closes them.
    int take_input() noexcept;
    int take_output() noexcept;

    // Whether it has ended; then it is reaped, and no longer running.
    bool has_ended() noexcept;
    // How it ended, for people: "ended with exit code 1", "was ended by signal 9 (Killed)".
    // REQUIRES: it has.
    std::string end_text() const;
    // To its whole group.
    void signal(int number) const noexcept;

 private:
    pid_t pid_ = -1;
    std::optional<int> status_;  // of waitpid, which says nothing where SIGCHLD is ignored
    int input_ = -1;
    int output_ = -1;
};

}  // namespace pillion::load
