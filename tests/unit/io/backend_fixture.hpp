// What the tests of src/io share: making each backend, a recording op, socket pairs, loops that
// give up loudly instead of hanging.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/backend_factory.hpp"
#include "io/epoll_backend.hpp"
#include "io/reactor.hpp"
#include "io/uring_backend.hpp"

namespace pillion::io::testing {

// "uring_unshared": a buffer for each receive, as before Linux 6.15; "uring_single": without
// multishot, DEFER_TASKRUN, registered files and waits for company, as on old kernels.
inline constexpr const char* every_backend[] = {"uring", "uring_unshared", "uring_single", "epoll"};

// One of these. Null with the reason in `why` where the system denies it.
inline std::unique_ptr<backend> make_named(const std::string& name, std::string& why,
                                           std::size_t buffers = 64) {
    backend_options small;
    small.submission_entries = 64;
    small.completion_entries = 256;
    small.recv_buffers = buffers;
    if (name == "epoll") {
        auto made = make_epoll_backend(small);
        return made ? std::move(*made) : nullptr;
    }
    uring_restrictions without;
    without.no_multishot = without.no_defer_taskrun = name == "uring_single";
    without.no_registered_files = name == "uring_single";
    small.waits_for_company = name != "uring_single";
    without.no_shared_buffers = name == "uring_unshared";
    auto made = make_uring_backend(small, without, why);
    return made ? std::move(*made) : nullptr;
}

// An op that remembers what became of it.
struct recorder : transfer_op {
    recorder() : transfer_op(&recorder::complete) {}
    static void complete(op& self, const completion& what) noexcept {
        auto& me = static_cast<recorder&>(self);
        me.results.push_back(what.res);
        me.finished = !what.more;
        if (what.data != nullptr) {
            me.bytes.append(what.data, static_cast<std::size_t>(what.res));
        }
        if (me.then) {
            me.then(what);
        }
    }
    std::vector<std::int32_t> results;
    std::string bytes;
    bool finished = false;
    std::function<void(const completion&)> then;

    std::int32_t last() const { return results.empty() ? 1 << 30 : results.back(); }
};

class backend_test : public ::testing::TestWithParam<const char*> {
 protected:
    void SetUp() override {
        ::signal(SIGPIPE, SIG_IGN);
        open_loop(64);
    }
    void open_loop(std::size_t buffers) {
        loop.reset();
        std::string why;
        auto made = make_named(GetParam(), why, buffers);
        if (made == nullptr) {
            GTEST_SKIP() << GetParam() << " is not available here: " << why;
        }
        loop = std::make_unique<reactor>(std::move(made));
    }
    void TearDown() override {
        if (loop != nullptr) {
            loop->run_one(0);
            EXPECT_EQ(loop->ops().in_flight(), 0U);
            EXPECT_EQ(loop->ops().buffers_lent(), 0U);
            EXPECT_EQ(loop->chunks().live(), 0U);
        }
    }

    backend& ops() { return loop->ops(); }

    // Turns until `done`, at most five seconds.
    bool until(const std::function<bool()>& done) {
        const std::int64_t end = loop->ops().now_ns() + 5'000'000'000;
        while (!done()) {
            if (loop->ops().now_ns() > end) {
                return false;
            }
            loop->run_one(20'000'000);
        }
        return true;
    }
    void turns(int count) {
        for (int i = 0; i < count; ++i) {
            loop->run_one(2'000'000);
        }
    }

    std::unique_ptr<reactor> loop;
};

// A connected pair; the first end is non-blocking (for the loop), the second blocking.
struct socket_pair {
    int ours = -1;
    int theirs = -1;
    backend* closer;
    explicit socket_pair(backend& by) : closer(&by) {
        int both[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
        ours = both[0];
        theirs = both[1];
        ::fcntl(ours, F_SETFL, O_NONBLOCK);
    }
    ~socket_pair() {
        if (closer != nullptr) {
            closer->close(ours);
        }
        if (theirs >= 0) {
            ::close(theirs);
        }
    }
    void hang_up() { ::close(std::exchange(theirs, -1)); }
};

// Connects to a TCP port of this machine (blocking).
inline int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

}  // namespace pillion::io::testing
