#include "server_watch.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace pillion::load {

namespace {

namespace fs = std::filesystem;

pid_t to_pid(const std::string& text) {
    pid_t pid = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, fault] = std::from_chars(text.data(), end, pid);
    return fault == std::errc{} && stopped == end && pid > 0 ? pid : 0;
}

std::uint64_t number_after(const std::string& line, std::size_t at) {
    return std::strtoull(line.c_str() + at, nullptr, 10);
}

// An address as the tables of the kernel show it: words in the order of the machine.
std::string shown_in_tables(const void* address, std::size_t bytes) {
    std::string shown;
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
        std::uint32_t word = 0;
        std::memcpy(&word, static_cast<const char*>(address) + at, sizeof word);
        char text[16];
        std::snprintf(text, sizeof text, "%08X", word);
        shown += text;
    }
    return shown;
}

// Where whoever gets a connection to this address may listen, the likeliest first: at the address
// itself, or at any.
std::vector<std::string> places_of(const sockaddr_storage& address) {
    const std::string any6(32, '0');
    if (address.ss_family == AF_INET6) {
        const auto& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
        return {shown_in_tables(&ip, sizeof ip), any6};
    }
    const auto& ip = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    unsigned char mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::memcpy(mapped + 12, &ip, sizeof ip);
    return {shown_in_tables(&ip, sizeof ip), shown_in_tables(mapped, sizeof mapped), "00000000",
            any6};
}

// Whether that is an address of ours: nothing else can be bound to.
bool is_of_this_machine(sockaddr_storage address, socklen_t bytes) {
    in_port_t& port = address.ss_family == AF_INET6
                          ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                          : reinterpret_cast<sockaddr_in&>(address).sin_port;
    port = 0;
    const int fd = ::socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), bytes) == 0;
    ::close(fd);
    return bound;
}

void add_tcp_inodes(const char* table, const std::string& place, std::uint16_t port,
                    std::set<std::uint64_t>& to) {
    std::ifstream in(table);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
        char local[33] = {};
        unsigned local_port = 0;
        unsigned state = 0;
        unsigned long long inode = 0;
        constexpr unsigned listening = 0x0a;
        if (std::sscanf(line.c_str(),
                        " %*d: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %llu",
                        local, &local_port, &state, &inode) == 4 &&
            place == local && local_port == port && state == listening) {
            to.insert(inode);
        }
    }
}

// Inodes of sockets that listen at the target, if that is on this machine.
std::set<std::uint64_t> tcp_inodes(const target& where) {
    std::set<std::uint64_t> found;
    if (!is_of_this_machine(where.address, where.address_bytes)) {
        return found;
    }
    for (const std::string& place : places_of(where.address)) {
        add_tcp_inodes("/proc/net/tcp", place, where.port, found);
        add_tcp_inodes("/proc/net/tcp6", place, where.port, found);
        if (!found.empty()) {
            break;
        }
    }
    return found;
}

// The same for a unix socket, by its path.
void add_unix_inodes(const std::string& path, std::set<std::uint64_t>& to) {
    std::ifstream in("/proc/net/unix");
    for (std::string line; std::getline(in, line);) {
        unsigned long long inode = 0;
        char name[sizeof(sockaddr_un::sun_path) + 1] = {};
        if (std::sscanf(line.c_str(), "%*s %*s %*s %*s %*s %*s %llu %108s", &inode, name) == 2 &&
            path == name) {
            to.insert(inode);
        }
    }
}

bool holds_socket(const fs::path& process, const std::set<std::uint64_t>& inodes) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(process / "fd", ignored)) {
        const std::string to = fs::read_symlink(entry.path(), ignored).string();
        constexpr std::string_view prefix = "socket:[";
        if (to.starts_with(prefix) && inodes.contains(number_after(to, prefix.size()))) {
            return true;
        }
    }
    return false;
}

void add_with_children(pid_t pid, std::set<pid_t>& to) {
    if (!to.insert(pid).second) {
        return;
    }
    const std::string number = std::to_string(pid);
    std::ifstream children("/proc/" + number + "/task/" + number + "/children");
    for (pid_t child = 0; children >> child;) {
        add_with_children(child, to);
    }
}

// Children that have ended.
void add_reaped(server_sample& to) {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    for (const timeval& t : {used.ru_utime, used.ru_stime}) {
        to.cpu_ns += std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_usec} * 1000;
    }
    to.switches += static_cast<std::uint64_t>(used.ru_nvcsw + used.ru_nivcsw);
}

// False where there is no such process.
bool read_clock(clockid_t which, std::int64_t& ns) {
    timespec t{};
    const bool read = ::clock_gettime(which, &t) == 0;
    ns = std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
    return read;
}

std::uint64_t field_of_status(const std::string& line, std::string_view name) {
    return line.starts_with(name) ? number_after(line, name.size()) : 0;
}

}  // namespace

bool server_watch::find(const std::string& word, const target& where, std::string& fault) {
    if (word != "auto") {
        const pid_t pid = to_pid(word);
        if (pid == 0 || !fs::exists("/proc/" + word)) {
            fault = "no process " + word;
            return false;
        }
        add_with_children(pid, pids_);
        return true;
    }
    if (where.is_command()) {
        ours_ = true;
        return true;
    }
    std::set<std::uint64_t> inodes;
    if (where.is_unix()) {
        add_unix_inodes(where.socket_path, inodes);
    } else {
        inodes = tcp_inodes(where);
    }
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
        const pid_t pid = to_pid(entry.path().filename().string());
        if (pid != 0 && holds_socket(entry.path(), inodes)) {
            add_with_children(pid, pids_);
        }
    }
    if (pids_.empty()) {
        fault = "nobody on this machine, or nobody we may look at, listens at " + where.text;
    }
    return !pids_.empty();
}

std::set<pid_t> server_watch::pids() const {
    std::set<pid_t> all = pids_;
    if (ours_) {
        add_with_children(::getpid(), all);
        all.erase(::getpid());
    }
    return all;
}

server_sample server_watch::sample() const {
    server_sample sum;
    if (ours_) {
        add_reaped(sum);
    }
    std::error_code ignored;
    for (const pid_t pid : pids()) {
        const fs::path process = fs::path("/proc") / std::to_string(pid);
        std::ifstream memory(process / "status");
        std::uint64_t rss_bytes = 0;
        for (std::string line; std::getline(memory, line);) {
            rss_bytes += field_of_status(line, "VmRSS:") * 1024;
        }
        sum.rss_bytes += rss_bytes;
        // With that of threads that have ended.
        clockid_t clock{};
        std::int64_t ran_ns = 0;
        const bool there = ::clock_getcpuclockid(pid, &clock) == 0 && read_clock(clock, ran_ns);
        sum.cpu_ns += ran_ns;
        // One that nobody has waited for yet has no memory.
        sum.processes += there && rss_bytes > 0 ? 1 : 0;
        for (const auto& task : fs::directory_iterator(process / "task", ignored)) {
            std::ifstream status(task.path() / "status");
            for (std::string line; std::getline(status, line);) {
                sum.switches += field_of_status(line, "voluntary_ctxt_switches:") +
                                field_of_status(line, "nonvoluntary_ctxt_switches:");
            }
        }
    }
    return sum;
}

std::optional<server_sample> server_watch::since(const server_sample& before) const {
    server_sample now = sample();
    if (!ours_ && now.processes < before.processes) {
        return std::nullopt;
    }
    now.cpu_ns = std::max<std::int64_t>(now.cpu_ns - before.cpu_ns, 0);
    now.switches -= std::min(before.switches, now.switches);
    return now;
}

std::int64_t own_cpu_ns() noexcept {
    std::int64_t ns = 0;
    read_clock(CLOCK_PROCESS_CPUTIME_ID, ns);
    return ns;
}

}  // namespace pillion::load
