#include "server_watch.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

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

// Inodes of sockets that listen on a TCP port of this machine.
void add_tcp_inodes(const char* table, std::uint16_t port, std::set<std::uint64_t>& to) {
    std::ifstream in(table);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
        unsigned local_port = 0;
        unsigned state = 0;
        unsigned long long inode = 0;
        constexpr unsigned listening = 0x0a;
        if (std::sscanf(line.c_str(),
                        " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %llu",
                        &local_port, &state, &inode) == 3 &&
            local_port == port && state == listening) {
            to.insert(inode);
        }
    }
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
        add_tcp_inodes("/proc/net/tcp", where.port, inodes);
        add_tcp_inodes("/proc/net/tcp6", where.port, inodes);
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
        for (std::string line; std::getline(memory, line);) {
            sum.rss_bytes += field_of_status(line, "VmRSS:") * 1024;
        }
        for (const auto& task : fs::directory_iterator(process / "task", ignored)) {
            std::ifstream times(task.path() / "schedstat");
            std::int64_t ran_ns = 0;
            times >> ran_ns;
            sum.cpu_ns += ran_ns;
            std::ifstream status(task.path() / "status");
            for (std::string line; std::getline(status, line);) {
                sum.switches += field_of_status(line, "voluntary_ctxt_switches:") +
                                field_of_status(line, "nonvoluntary_ctxt_switches:");
            }
        }
    }
    return sum;
}

std::int64_t own_cpu_ns() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace pillion::load
