// child: a program that we start, without a shell, and see to its end. It leads a process group of
// its own, sees the environment it was given and no descriptor of ours but its standard ones,
// and is killed by the system if we are. It gains no privileges, and leaves no core.
//
// When the leader has ended, whoever is still in its group is killed, and the leader is reaped. Who
// has left the group (setsid(2)) is not ours any more; and if we are killed ourselves, the system
// kills the leader and not those it has started. Its end is looked for every few milliseconds at
// first, every 100 later; who reads its pipes and finds them closed asks for it at once with
// look().
//
// Ownership: the pipes' ends that are ours are closed by the destructor, when nobody reads or
// writes them any more. Thread: its loop's, which must not end before it: PR_SET_PDEATHSIG is about
// the thread that started it (prctl(2)).
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <string>
#include <vector>

#include "io/reactor.hpp"
#include "io/timer_wheel.hpp"

namespace pillion::process {

// Limits of a child (setrlimit(2)); 0: ours.
struct resource_limits {
    std::uint64_t cpu_seconds = 0;
    std::uint64_t memory_bytes = 0;  // of its address space
    std::uint64_t file_bytes = 0;    // of a file that it writes
    std::uint64_t open_files = 0;
};

struct start_options {
    std::vector<std::string> argv;  // the program first: a path, or a name to look for in PATH
    std::vector<std::string> environment;  // "NAME=value"
    std::string folder;                    // to work in; empty: ours
    resource_limits limits;
    int input_fd = -1;  // what it reads, which stays the caller's; negative: a pipe from us
};

// How it ended.
struct exit_status {
    int code = 0;    // of exit(3), when there was no signal
    int signal = 0;  // that killed it; 0: none
};
// "SIGKILL".
std::string signal_name(int number);
// "it ended with code 1", "it was killed by SIGKILL".
std::string describe(const exit_status& how);

// What is in its pipes when it has ended is read for so long: somebody who left its group may hold
// them. In steps, so that a loop that was held up reads between them: else time is up before it has
// seen the end of the pipes, which came long ago.
inline constexpr std::int64_t pipe_patience_ms = 20;
inline constexpr int pipe_patience_steps = 10;

class child_watcher {
 public:
    // Once, after a start that went well: it has been reaped, and its group is gone. The child may
    // be destroyed in this call.
    virtual void on_exit(const exit_status& how) = 0;

 protected:
    ~child_watcher() = default;
};

class child {
 public:
    child(io::reactor& loop, child_watcher& watcher) noexcept : loop_(loop), watcher_(watcher) {}
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    // REQUIRES: !running().
    ~child();

    // Once. False with a fault in words; then there is no process and no descriptor.
    bool start(const start_options& what, std::string& fault);
    bool running() const noexcept { return pid_ > 0; }

    // Our ends: what is written to the first it reads, the others it writes. Negative: closed, or
    // never made.
    int input_fd() const noexcept { return ends_[0]; }
    int output_fd() const noexcept { return ends_[1]; }
    int error_fd() const noexcept { return ends_[2]; }
    // Nothing more will come for it to read. REQUIRES: nobody is writing.
    void close_input() noexcept;

    // Asks the group to end, and kills it after a while. Idempotent; 0 kills at once.
    void terminate(std::int64_t kill_after_ms) noexcept;
    // It may have ended: looks soon.
    void look() noexcept;

 private:
    static void on_look(io::timer& self, void* owner) noexcept;
    static void on_kill(io::timer& self, void* owner) noexcept;
    void close_end(int which) noexcept;

    io::reactor& loop_;
    child_watcher& watcher_;
    pid_t pid_ = -1;
    int ends_[3] = {-1, -1, -1};
    std::int64_t pause_ms_ = 1;
    bool asked_ = false;
    io::timer look_{&child::on_look, this};
    io::timer kill_{&child::on_kill, this};
};

}  // namespace pillion::process
