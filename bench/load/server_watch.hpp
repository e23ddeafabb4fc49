// server_watch: what the system knows of the processes under load: processor time, resident memory,
// context switches; and which processes those are.
//
// Reads /proc, outside of the measured time. Thread: any, one at a time.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <set>
#include <string>

#include "target.hpp"

namespace pillion::load {

struct server_sample {
    std::int64_t cpu_ns = 0;
    std::uint64_t rss_bytes = 0;
    std::uint64_t switches = 0;  // context switches, wanted or not
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
    // Summed over the processes and all their threads that still exist.
    server_sample sample() const;

 private:
    std::set<pid_t> pids_;
    bool ours_ = false;  // our own children, whichever they are
};

// Processor time of this process.
std::int64_t own_cpu_ns() noexcept;

}  // namespace pillion::load
