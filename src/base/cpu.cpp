#include "base/cpu.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace pillion::base {

namespace {

// As the kernel has it (sched_setattr(2)); its header and glibc's contradict each other.
struct sched_attributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime;  // SCHED_OTHER: the time slice, 0 for the usual one
    std::uint64_t deadline;
    std::uint64_t period;
};

// The least that the kernel takes (0.1 ms).
constexpr std::uint64_t short_slice_ns = 100'000;
constexpr int computing_nice = 10;

std::vector<int> allowed_cpus() {
    // The mask may be wider than cpu_set_t on large machines.
    constexpr int cpus_max = 16 * 1024;
    std::vector<int> list;
    cpu_set_t* set = CPU_ALLOC(cpus_max);
    if (set == nullptr) {
        return list;
    }
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus_max);
    CPU_ZERO_S(bytes, set);
    if (::sched_getaffinity(0, bytes, set) == 0) {
        for (int i = 0; i < cpus_max; ++i) {
            if (CPU_ISSET_S(static_cast<std::size_t>(i), bytes, set)) {
                list.push_back(i);
            }
        }
    }
    CPU_FREE(set);
    return list;
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

void take_smaller(std::size_t& least, std::size_t quota) {
    if (quota > 0 && (least == 0 || quota < least)) {
        least = quota;
    }
}

// The tightest quota on the way from `path` up to the root of the hierarchy, 0 if none.
template <class ReadQuota>
std::size_t walk_up(std::string path, ReadQuota read) {
    std::size_t least = 0;
    for (;;) {
        take_smaller(least, read(path));
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos || path.empty()) {
            return least;
        }
        path.resize(slash);
    }
}

std::size_t v2_quota(const std::string& group) {
    return walk_up(group, [](const std::string& path) {
        return detail::quota_of(first_line("/sys/fs/cgroup" + path + "/cpu.max").c_str());
    });
}

std::size_t v1_quota(const std::string& group) {
    return walk_up(group, [](const std::string& path) {
        const std::string base = "/sys/fs/cgroup/cpu" + path + "/cpu.cfs_";
        const std::string text =
            first_line(base + "quota_us") + " " + first_line(base + "period_us");
        return detail::quota_of(text.c_str());
    });
}

std::size_t group_quota() {
    std::ifstream groups("/proc/self/cgroup");
    std::size_t least = 0;
    // Lines of "id:controllers:path"; version 2 has no controllers there.
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) {
            continue;
        }
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        std::string path = line.substr(second + 1);
        if (path == "/") {
            path.clear();
        }
        if (controllers == ",,") {
            take_smaller(least, v2_quota(path));
        } else if (controllers.find(",cpu,") != std::string::npos) {
            take_smaller(least, v1_quota(path));
        }
    }
    return least;
}

}  // namespace

std::size_t detail::quota_of(const char* cpu_max) noexcept {
    long long quota = 0;
    long long period = 0;
    // "max 100000" (version 2) and "-1 100000" (version 1) mean no limit.
    if (std::sscanf(cpu_max, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) {
        return 0;
    }
    return static_cast<std::size_t>((quota - 1) / period + 1);
}

std::size_t usable_cpus() noexcept {
    const std::size_t allowed = std::max<std::size_t>(allowed_cpus().size(), 1);
    const std::size_t quota = group_quota();
    return quota == 0 ? allowed : std::min(allowed, quota);
}

void set_thread_kind(thread_kind kind) noexcept {
    sched_attributes now{};
    if (::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0 || now.policy != SCHED_OTHER) {
        // Someone chose a policy for this process, or a sandbox hides it.
        return;
    }
    now.size = sizeof now;
    now.flags = 0;
    now.runtime = kind == thread_kind::respond ? short_slice_ns : 0;
    if (kind == thread_kind::compute) {
        now.nice = std::max(now.nice, computing_nice);
    }
    ::syscall(SYS_sched_setattr, 0, &now, 0);
}

bool pin_thread(std::size_t index) noexcept {
    static const std::vector<int> cpus = allowed_cpus();
    if (cpus.empty()) {
        return false;
    }
    const int cpu = cpus[index % cpus.size()];
    if (cpu >= CPU_SETSIZE) {
        return false;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    return ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) == 0;
}

}  // namespace pillion::base
