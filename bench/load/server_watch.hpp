// server_watch: what the system knows of the processes under load: processor time, resident memory,
// context switches; and which processes those are.
//
// Reads /proc, outside of the measured time. Thread: any, one at a time.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "target.hpp"

namespace pillion::load {

struct server_sample {
    std::int64_t cpu_ns = 0;
    std::uint64_t rss_bytes = 0;
    // Context switches, wanted or not, of threads that still exist: the system keeps no others.
    std::uint64_t switches = 0;
    std::size_t processes = 0;  // that were there to be looked at
};

class server_watch {
 public:
    // "auto" finds whoever listens at the target on this machine, or whom we start where that is a
    // command; a number is that process. Those they have started count as well. False, with `fault`
    // set, when there is nobody.
    bool find(const std::string& word, const target& where, std::string& fault);

    bool is_watching() const noexcept { return ours_ || !pids_.empty(); }
    // Those that there are now.
    std::set<pid_t> pids() const;
    // Summed over the processes.
    server_sample sample() const;
    // What they have used since; nullopt where one has ended, and with it what it used.
    std::optional<server_sample> since(const server_sample& before) const;

 private:
    std::set<pid_t> pids_;
    bool ours_ = false;  // our own children, whichever they are
};

// Processor time of this process.
std::int64_t own_cpu_ns() noexcept;

}  // namespace pillion::load
