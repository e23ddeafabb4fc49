#include "base/process_stats.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <charconv>
#include <cstdint>

namespace pillion::base {

namespace {

// A file of /proc that fits `buf`; empty when it cannot be read.
template <std::size_t Size>
std::string_view read_proc(const char* path, char (&buf)[Size]) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : ::read(fd, buf, Size);
    if (fd >= 0) {
        ::close(fd);
    }
    return {buf, got < 0 ? 0 : static_cast<std::size_t>(got)};
}

// The `index`th word, the first being 0, as a number; 0 when there is none.
std::uint64_t number_at(std::string_view words, std::size_t index) noexcept {
    for (; index > 0 && !words.empty(); --index) {
        const std::size_t end = words.find(' ');
        words.remove_prefix(end == words.npos ? words.size() : end + 1);
    }
    std::uint64_t value = 0;
    std::from_chars(words.data(), words.data() + words.size(), value);
    return value;
}

double seconds_of(const timespec& t) noexcept {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

double seconds_of(const timeval& t) noexcept {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

// Since 1970. The kernel counts from the boot (proc(5), field 22 of stat); the second field, a
// name in parentheses, may hold anything.
double read_start_time() noexcept {
    char buf[1024];
    std::string_view stat = read_proc("/proc/self/stat", buf);
    stat.remove_prefix(stat.rfind(')') == stat.npos ? stat.size() : stat.rfind(')') + 2);
    const double ticks = static_cast<double>(number_at(stat, 19));
    timespec boot{};
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &boot);
    ::clock_gettime(CLOCK_REALTIME, &now);
    return seconds_of(now) - seconds_of(boot) + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::uint64_t open_descriptors() noexcept {
    struct stat folder{};
    // Since Linux 6.2 the size of this folder is the number of its entries.
    if (::stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0) {
        return static_cast<std::uint64_t>(folder.st_size);
    }
    DIR* const open = ::opendir("/proc/self/fd");
    if (open == nullptr) {
        return 0;
    }
    std::uint64_t count = 0;
    for (const dirent* one = ::readdir(open); one != nullptr; one = ::readdir(open)) {
        count += one->d_name[0] != '.' ? 1 : 0;
    }
    ::closedir(open);
    return count - 1;  // the folder itself
}

}  // namespace

#ifdef __clang__
const std::string_view compiler_name = "clang++ " __clang_version__;
#else
const std::string_view compiler_name = "g++ " __VERSION__;
#endif

void show_memory(metrics_page& to, std::string_view owner, std::size_t bytes) {
    to.gauge("pillion_memory_bytes",
             "Memory taken from the system, what is kept for reuse included, by owner.",
             static_cast<double>(bytes), {{"owner", owner}});
}

void collect_process(metrics_page& to) {
    char buf[256];
    const std::string_view memory = read_proc("/proc/self/statm", buf);
    const auto page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
    to.gauge("process_virtual_memory_bytes", "Virtual memory.",
             static_cast<double>(number_at(memory, 0)) * page_bytes);
    to.gauge("process_resident_memory_bytes", "Resident memory.",
             static_cast<double>(number_at(memory, 1)) * page_bytes);
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    to.counter_seconds("process_cpu_seconds_total", "Time spent on processors, user and system.",
                       seconds_of(used.ru_utime) + seconds_of(used.ru_stime));
    to.gauge("process_open_fds", "Descriptors that are open.",
             static_cast<double>(open_descriptors()));
    rlimit most{};
    ::getrlimit(RLIMIT_NOFILE, &most);
    to.gauge("process_max_fds", "Descriptors that may be open.",
             static_cast<double>(most.rlim_cur));
    static const double started = read_start_time();
    to.gauge("process_start_time_seconds", "When the process began, since 1970.", started);
}

}  // namespace pillion::base
