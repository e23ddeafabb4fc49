#include "wire.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace hostile {

namespace {

std::int64_t read_clock(clockid_t which) {
    timespec t{};
    ::clock_gettime(which, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

std::int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }
std::int64_t thread_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void fail(const char* what) {
    std::perror(what);
    std::_Exit(1);
}

int dial(int port, const dial_options& how) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        fail("socket");
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (how.small) {
        const int window = 4096;
        const int segment = 1400;
        ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
        ::setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    }
    if (!how.patient) {
        const timeval limit{0, 50'000};
        ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (how.host != 1) {
        // The port is chosen at connect(), among those that are free towards this server.
        ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + static_cast<std::uint32_t>(how.host));
        ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    }
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        if (how.patient) {
            fail("connect");
        }
        ::close(fd);
        return -1;
    }
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

bool send_all(int fd, std::string_view text) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == static_cast<ssize_t>(text.size());
}

std::string ask(int fd, const std::string& text, std::string_view until) {
    constexpr int patience_ms = 10'000;
    if (!send_all(fd, text)) {
        fail("send");
    }
    std::string got;
    char part[4096];
    while (got.find(until) == std::string::npos) {
        pollfd readable{fd, POLLIN, 0};
        ::poll(&readable, 1, patience_ms);
        const ssize_t bytes = ::recv(fd, part, sizeof part, MSG_DONTWAIT);
        if (bytes <= 0) {
            std::fprintf(stderr, "%s\n", got.c_str());
            fail("recv");
        }
        got.append(part, static_cast<std::size_t>(bytes));
    }
    return got;
}

std::string post(std::string_view headers, std::string_view body) {
    std::string text =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n";
    text += headers;
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    text += body;
    return text;
}

namespace {

constexpr std::string_view meta =
    R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientInfo":{"name":"hostile","version":"1"},)"
    R"("io.modelcontextprotocol/clientCapabilities":{}}}})";

}  // namespace

std::string call(std::string_view tool, std::string_view arguments, std::string_view headers) {
    std::string head = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: ";
    head += tool;
    head += "\r\n";
    head += headers;
    std::string body = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")";
    body += tool;
    body += R"(","arguments":)";
    body += arguments;
    body += meta;
    return post(head, body);
}

std::string listen(std::string_view uri) {
    std::string body = R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{)"
                       R"("notifications":{"resourceSubscriptions":[")";
    body += uri;
    body += R"("]})";
    body += meta;
    return post("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n", body);
}

std::string open_session(int fd) {
    const std::string reply =
        ask(fd,
            post("", R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{)"
                     R"("protocolVersion":"2025-06-18","capabilities":{},)"
                     R"("clientInfo":{"name":"hostile","version":"1"}}})"),
            "\"}}");
    const std::string_view name = "Mcp-Session-Id: ";
    const std::size_t at = reply.find(name);
    if (at == std::string::npos) {
        fail(reply.c_str());
    }
    const std::size_t begin = at + name.size();
    return reply.substr(begin, reply.find('\r', begin) - begin);
}

std::string get_stream(std::string_view session) {
    std::string text =
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        "MCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: ";
    text += session;
    text += "\r\n\r\n";
    return text;
}

bool answer_reader::next() {
    text_.erase(0, taken_);
    taken_ = 0;
    const std::size_t end = text_.find("\r\n\r\n");
    if (end == std::string::npos) {
        return false;
    }
    head_bytes_ = end + 4;
    const std::string_view whole(text_.data(), head_bytes_);
    constexpr std::string_view length = "Content-Length: ";
    const std::size_t at = whole.find(length);
    const std::size_t bytes =
        at == std::string::npos ? 0 : std::strtoul(whole.data() + at + length.size(), nullptr, 10);
    if (text_.size() < head_bytes_ + bytes) {
        return false;
    }
    taken_ = head_bytes_ + bytes;
    status_ = std::atoi(whole.data() + whole.find(' '));
    closes_ = whole.find("Connection: close") != std::string::npos;
    return true;
}

}  // namespace hostile
