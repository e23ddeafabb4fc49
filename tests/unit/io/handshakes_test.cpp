// handshakes: clients that are half-way when a listener closes. Their half is held up by a filter
// of their own, which does not let them see the system's answer.
#include "io/handshakes.hpp"

#include <linux/filter.h>
#include <poll.h>
#include <sys/socket.h>
#include <cerrno>
#include <string>

#include "backend_fixture.hpp"
#include "io/listener.hpp"
#include "io/socket.hpp"

namespace pillion::io::testing {
namespace {

// A client on its way to a port of this machine.
struct half_way {
    explicit half_way(const listen_socket& to) {
        sockaddr_storage where{};
        socklen_t bytes = sizeof where;
        EXPECT_EQ(::getsockname(to.fd(), reinterpret_cast<sockaddr*>(&where), &bytes), 0);
        fd = ::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        sock_filter nothing{BPF_RET | BPF_K, 0, 0, 0};
        const sock_fprog program{1, &nothing};
        EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
        EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&where), bytes), -1);
        EXPECT_EQ(errno, EINPROGRESS);
    }
    ~half_way() { ::close(fd); }
    // The next answer gets through: the system repeats it after a second.
    void go_on() {
        const int unused = 0;
        EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused), 0);
    }
    int fd = -1;
};

// Whether this user may attach one.
bool may_filter() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sock_filter all{BPF_RET | BPF_K, 0, 0, UINT32_MAX};
    const sock_fprog program{1, &all};
    const bool may = ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
    ::close(fd);
    return may;
}

listen_socket listen_at(const char* where) {
    auto made = open_listeners(*parse_listen_spec(where), 1);
    return made ? std::move(made->front()) : listen_socket();
}

struct handshakes : ::testing::Test {
    void SetUp() override {
        if (!may_filter()) {
            GTEST_SKIP() << "this user may not attach filters";
        }
    }
};

struct handshakes_test : backend_test, connection_sink {
    void SetUp() override {
        if (!may_filter()) {
            GTEST_SKIP() << "this user may not attach filters";
        }
        backend_test::SetUp();
    }
    void on_connection(int fd) noexcept override { got.push_back(fd); }
    void on_listener_closed() noexcept override {
        closed = true;
        socket.close();
    }
    void TearDown() override {
        if (loop == nullptr) {
            return;
        }
        for (const int fd : got) {
            ops().close(fd);
        }
        backend_test::TearDown();
    }
    listen_socket socket;
    std::vector<int> got;
    bool closed = false;
};

TEST_F(handshakes, are_known_while_they_are_under_way) {
    for (const char* const where : {"127.0.0.1:0", "[::1]:0", "[::]:0"}) {
        const listen_socket socket = listen_at(where);
        if (socket.fd() < 0) {
            continue;  // no IPv6 here
        }
        const listen_socket other = listen_at(where);
        EXPECT_FALSE(handshakes_under_way(socket.fd())) << where;
        {
            const half_way client(socket);
            EXPECT_TRUE(handshakes_under_way(socket.fd())) << where;
            EXPECT_FALSE(handshakes_under_way(other.fd())) << where;
        }
    }
    EXPECT_FALSE(handshakes_under_way(-1));
}

TEST_F(handshakes, who_is_connected_is_not_under_way) {
    const listen_socket socket = listen_at("127.0.0.1:0");
    const int waiting = connect_to(local_port(socket.fd()));
    ASSERT_GE(waiting, 0);
    EXPECT_FALSE(handshakes_under_way(socket.fd()));
    const int accepted = ::accept(socket.fd(), nullptr, nullptr);
    EXPECT_FALSE(handshakes_under_way(socket.fd()));
    ::close(accepted);
    ::close(waiting);
}

TEST_F(handshakes, who_is_half_way_to_a_deaf_socket_is_heard_when_accepted) {
    const listen_socket socket = listen_at("127.0.0.1:0");
    half_way client(socket);
    drop_handshakes(socket.fd());
    client.go_on();
    pollfd connected{client.fd, POLLOUT, 0};
    ASSERT_EQ(::poll(&connected, 1, 20'000), 1);
    ASSERT_EQ(::send(client.fd, "x", 1, MSG_NOSIGNAL), 1);
    const int accepted = ::accept4(socket.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    ASSERT_GE(accepted, 0);
    hear_again(accepted);
    pollfd heard{accepted, POLLIN, 0};
    EXPECT_EQ(::poll(&heard, 1, 20'000), 1);
    ::close(accepted);
}

TEST_F(handshakes, new_ones_are_ignored) {
    const listen_socket socket = listen_at("127.0.0.1:0");
    ASSERT_TRUE(ignore_handshakes(socket.fd()));
    const half_way client(socket);
    EXPECT_FALSE(handshakes_under_way(socket.fd()));
}

// Its part came 100 ms after the listener had stopped to wait for it: it was reset, although it had
// begun before the end did.
TEST_P(handshakes_test, one_that_is_held_up_is_waited_for) {
    socket = listen_at("127.0.0.1:0");
    half_way client(socket);
    listener l(*loop, socket.fd(), *this);
    l.start();
    ASSERT_TRUE(ignore_handshakes(socket.fd()));
    l.close(0, 20'000);
    turns(10);
    EXPECT_FALSE(closed);
    client.go_on();
    ASSERT_TRUE(until([&] { return closed; }));
    EXPECT_EQ(got.size(), 1U);
}

// Where new ones cannot be ignored, some are under way at the very end: reset, once in some
// thousand ends under load (found in the suite user). This one is complete after a second, when the
// system repeats its answer.
TEST_P(handshakes_test, one_that_is_held_up_at_the_very_end_is_waited_for) {
    socket = listen_at("127.0.0.1:0");
    half_way client(socket);
    client.go_on();
    listener l(*loop, socket.fd(), *this);
    l.start();
    l.close(900, 0, true);
    ASSERT_TRUE(until([&] { return closed; }));
    EXPECT_EQ(got.size(), 1U);
}

TEST_P(handshakes_test, but_not_for_ever) {
    socket = listen_at("127.0.0.1:0");
    const half_way client(socket);
    listener l(*loop, socket.fd(), *this);
    l.start();
    l.close(0, 20);
    ASSERT_TRUE(until([&] { return closed; }));
    EXPECT_TRUE(got.empty());
    closed = false;
    socket = listen_at("127.0.0.1:0");
    const half_way another(socket);
    listener deaf(*loop, socket.fd(), *this);
    deaf.start();
    deaf.close(20, 0, true);
    ASSERT_TRUE(until([&] { return closed; }));
    EXPECT_TRUE(got.empty());
}

TEST_P(handshakes_test, a_second_close_is_for_less_time) {
    socket = listen_at("127.0.0.1:0");
    const half_way client(socket);
    listener l(*loop, socket.fd(), *this);
    l.start();
    l.close(0, 1'000'000);
    turns(3);
    EXPECT_FALSE(closed);
    l.close(0);
    ASSERT_TRUE(until([&] { return closed; }));
}

INSTANTIATE_TEST_SUITE_P(all, handshakes_test, ::testing::Values("uring", "uring_single", "epoll"));

// Needs no filter of ours, and no right to attach one.
struct deaf_end : backend_test, connection_sink {
    void on_connection(int fd) noexcept override { ops().close(fd); }
    void on_listener_closed() noexcept override {
        // A handshake over the loopback device is complete when connect(2) returns, or never.
        late = begun_at(socket.fd());
        connected = is_connected(late);
        closed = true;
        socket.close();
    }
    static int begun_at(int listening) noexcept {
        sockaddr_storage to{};
        socklen_t bytes = sizeof to;
        EXPECT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&to), &bytes), 0);
        const int fd = ::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), bytes), -1);
        EXPECT_EQ(errno, EINPROGRESS);
        return fd;
    }
    static bool is_connected(int fd) noexcept {
        pollfd asked{fd, POLLOUT, 0};
        return ::poll(&asked, 1, 0) == 1;
    }
    bool connects_at_the_end(const char* where, bool alone) {
        socket = listen_at(where);
        if (socket.fd() < 0) {
            return false;  // no IPv6 here
        }
        listener one(*loop, socket.fd(), *this);
        one.start();
        closed = false;
        one.close(0, 0, alone);
        EXPECT_TRUE(until([&] { return closed; }));
        ::close(late);
        return connected;
    }
    listen_socket socket;
    int late = -1;
    bool connected = false;
    bool closed = false;
};

// Found under load as a user who may not attach filters: a client that connected between the last
// accept and the end of the socket was reset.
TEST_P(deaf_end, nobody_connects_who_would_not_be_accepted) {
    EXPECT_FALSE(connects_at_the_end("127.0.0.1:0", true));
    EXPECT_FALSE(connects_at_the_end("[::1]:0", true));
}

TEST_P(deaf_end, a_socket_that_others_serve_goes_on_hearing) {
    EXPECT_TRUE(connects_at_the_end("127.0.0.1:0", false));
}

INSTANTIATE_TEST_SUITE_P(all, deaf_end, ::testing::Values("uring", "uring_single", "epoll"));

}  // namespace
}  // namespace pillion::io::testing
