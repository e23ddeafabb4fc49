#include "io/service_manager.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace pillion::io {

namespace {

constexpr int passed_max = 256;

// The number that a variable holds, or -1.
long number_of(const char* variable) noexcept {
    const char* const text = std::getenv(variable);
    if (text == nullptr) {
        return -1;
    }
    long number = -1;
    const char* const end = text + std::strlen(text);
    const auto [at, failed] = std::from_chars(text, end, number);
    return failed == std::errc{} && at == end ? number : -1;
}

int read_passed() noexcept {
    // What is meant for somebody else came down by way of the environment.
    if (number_of("LISTEN_PID") != ::getpid()) {
        return 0;
    }
    const long count = number_of("LISTEN_FDS");
    if (count <= 0 || count > passed_max) {
        return 0;
    }
    for (int fd = passed_first; fd < passed_first + static_cast<int>(count); ++fd) {
        static_cast<void>(::fcntl(fd, F_SETFD, FD_CLOEXEC));
    }
    return static_cast<int>(count);
}

}  // namespace

int passed_sockets() noexcept {
    static const int count = read_passed();
    return count;
}

std::vector<std::string> passed_addresses() {
    std::vector<std::string> all;
    for (int i = 0; i < passed_sockets(); ++i) {
        all.push_back("fd:" + std::to_string(passed_first + i));
    }
    return all;
}

void tell_manager(std::string_view state) noexcept {
    const char* const path = std::getenv("NOTIFY_SOCKET");
    sockaddr_un to{};
    const std::size_t length = path != nullptr ? std::strlen(path) : 0;
    // A path, or a name in the abstract namespace, which @ stands for.
    if (length < 2 || length >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, path, length);
    if (path[0] == '@') {
        to.sun_path[0] = '\0';
    }
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return;
    }
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
    static_cast<void>(::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&to), bytes));
    ::close(fd);
}

}  // namespace pillion::io
