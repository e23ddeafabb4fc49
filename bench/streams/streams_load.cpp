// Opens many idle event streams on a running fixture-server and times how one change reaches all of
// them; bench/streams/run starts it. Plain sockets and one epoll: the client must be cheap beside
// what it measures.
//
//   streams-load PORT PID LISTENS GETS ROUNDS
//
// LISTENS streams are subscriptions/listen (2026-07-28), GETS are GET streams of sessions
// (2025-06-18), each session on its stream's own connection. Prints one line of JSON.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

struct target {
    int port;
    std::string process;  // "/proc/PID"
};

int dial(const target& to) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(to.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{10, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        fail("connect");
    }
    return fd;
}

// Sends and reads until `until` has come.
std::string ask(int fd, const std::string& text, std::string_view until) {
    if (::send(fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
        fail("send");
    }
    std::string got;
    char part[4096];
    while (got.find(until) == std::string::npos) {
        const ssize_t bytes = ::recv(fd, part, sizeof part, 0);
        if (bytes <= 0) {
            std::fprintf(stderr, "%s\n", got.c_str());
            fail("recv");
        }
        got.append(part, static_cast<std::size_t>(bytes));
    }
    return got;
}

std::string post(const std::string& headers, const std::string& body) {
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Accept: application/json, text/event-stream\r\n" +
           headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string modern(const std::string& method, const std::string& name, const std::string& params) {
    return post("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n" +
                    (name.empty() ? "" : "Mcp-Name: " + name + "\r\n"),
                R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + params +
                    R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                    R"("io.modelcontextprotocol/clientInfo":{"name":"streams","version":"1"},)"
                    R"("io.modelcontextprotocol/clientCapabilities":{}}}})");
}

int open_listen(const target& to) {
    const int fd = dial(to);
    ask(fd,
        modern("subscriptions/listen", "",
               R"("notifications":{"toolsListChanged":true,)"
               R"("resourceSubscriptions":["test://watched-resource"]})"),
        "subscriptionId\":1}}}\n");
    return fd;
}

int open_get(const target& to) {
    const int fd = dial(to);
    const std::string reply =
        ask(fd,
            post("", R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{)"
                     R"("protocolVersion":"2025-06-18","capabilities":{},)"
                     R"("clientInfo":{"name":"streams","version":"1"}}})"),
            "\"}}");
    const std::string_view name = "Mcp-Session-Id: ";
    const std::size_t at = reply.find(name);
    if (at == std::string::npos) {
        fail(reply.c_str());
    }
    const std::size_t begin = at + name.size();
    const std::string session = reply.substr(begin, reply.find('\r', begin) - begin);
    ask(fd,
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        "MCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: " +
            session + "\r\n\r\n",
        "\r\n\r\n");
    return fd;
}

long resident_bytes(const target& of) {
    std::ifstream status(of.process + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("RssAnon:")) {
            return std::strtol(line.c_str() + 8, nullptr, 10) * 1024;
        }
    }
    return 0;
}

double cpu_ms(const target& of) {
    std::ifstream stat(of.process + "/stat");
    std::string line;
    std::getline(stat, line);
    const char* at = line.c_str() + line.rfind(')') + 2;
    long ticks = 0;
    for (int field = 3; field <= 15; ++field) {
        if (field >= 14) {
            ticks += std::strtol(at, nullptr, 10);
        }
        at = std::strchr(at, ' ') + 1;
    }
    return static_cast<double>(ticks) * 1000 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

class audience {
 public:
    void add(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = fds_.size();
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
        fds_.push_back(fd);
        heard_.push_back(0);
        tails_.emplace_back();
    }
    std::size_t size() const { return fds_.size(); }
    void leave() {
        for (const int fd : fds_) {
            ::close(fd);
        }
        fds_.clear();
        heard_.clear();
        tails_.clear();
    }

    // Reads until everybody has heard `times` changes in all, or for so long.
    bool wait(std::size_t times, int ms) {
        const auto end = clock_type::now() + std::chrono::milliseconds(ms);
        while (complete_ < size() * times) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock_type::now());
            if (left.count() <= 0) {
                return false;
            }
            epoll_event events[512];
            const int count = ::epoll_wait(epoll_, events, 512, static_cast<int>(left.count()));
            for (int i = 0; i < count; ++i) {
                read(events[i].data.u64);
            }
        }
        return true;
    }
    // Nobody has heard less or more.
    bool exactly(std::size_t times) const {
        return std::all_of(heard_.begin(), heard_.end(),
                           [times](std::size_t n) { return n == times; });
    }

 private:
    void read(std::size_t i) {
        char part[8192];
        const ssize_t bytes = ::recv(fds_[i], part, sizeof part, MSG_DONTWAIT);
        if (bytes <= 0) {
            fail("a stream ended");
        }
        // An event may be cut anywhere.
        constexpr std::string_view mark = "list_changed\"";
        std::string text = tails_[i] + std::string(part, static_cast<std::size_t>(bytes));
        std::size_t from = 0;
        for (std::size_t at; (at = text.find(mark, from)) != std::string::npos;) {
            from = at + mark.size();
            ++heard_[i];
            ++complete_;
        }
        tails_[i] = text.substr(std::max(from, text.size() - std::min(text.size(), mark.size())));
    }

    int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    std::vector<int> fds_;
    std::vector<std::size_t> heard_;
    std::vector<std::string> tails_;
    std::size_t complete_ = 0;
};

void change(int fd) {
    const std::string reply = ask(fd,
                                  modern("tools/call", "test_trigger_tool_change",
                                         R"("name":"test_trigger_tool_change","arguments":{})"),
                                  "}}}");
    if (reply.find("\"result\"") == std::string::npos) {
        fail(reply.c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: streams-load PORT PID LISTENS GETS ROUNDS\n");
        return 2;
    }
    const target to{std::atoi(argv[1]), std::string("/proc/") + argv[2]};
    const int listens = std::atoi(argv[3]);
    const int gets = std::atoi(argv[4]);
    const int rounds = std::atoi(argv[5]);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);

    const int control = dial(to);
    {
        // What is paid once in a process is not a stream's.
        audience first;
        for (int i = 0; i < 16; ++i) {
            first.add(open_listen(to));
        }
        change(control);
        first.wait(1, 5000);
        first.leave();
        ::usleep(300'000);
    }
    const long before = resident_bytes(to);
    audience all;
    const auto begun = clock_type::now();
    for (int i = 0; i < listens || i < gets; ++i) {
        if (i < listens) {
            all.add(open_listen(to));
        }
        if (i < gets) {
            all.add(open_get(to));
        }
    }
    const std::chrono::duration<double> opening = clock_type::now() - begun;
    ::usleep(500'000);
    const long idle = resident_bytes(to);
    const double cpu_before = cpu_ms(to);
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        const auto start = clock_type::now();
        change(control);
        if (!all.wait(static_cast<std::size_t>(round) + 1, 20'000)) {
            fail("not everybody has heard");
        }
        times.push_back(
            std::chrono::duration<double, std::milli>(clock_type::now() - start).count());
        ::usleep(50'000);
    }
    const double cpu = cpu_ms(to) - cpu_before;
    static_cast<void>(all.wait(static_cast<std::size_t>(rounds) + 1, 500));
    const bool once = all.exactly(static_cast<std::size_t>(rounds));
    const long after = resident_bytes(to);
    std::sort(times.begin(), times.end());
    const auto count = static_cast<double>(all.size());
    std::printf(
        "{\"streams\":%zu,\"opened_per_s\":%.0f,\"bytes_idle\":%.0f,\"bytes_told\":%.0f,"
        "\"ms_median\":%.1f,\"ms_worst\":%.1f,\"cpu_us_per_stream\":%.2f,"
        "\"exactly_once\":%s}\n",
        all.size(), count / opening.count(), static_cast<double>(idle - before) / count,
        static_cast<double>(after - before) / count, times[times.size() / 2], times.back(),
        cpu * 1000 / rounds / count, once ? "true" : "false");
    return once ? 0 : 1;
}
