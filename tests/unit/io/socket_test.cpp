#include "io/socket.hpp"

#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <fstream>
#include <thread>

#include "backend_fixture.hpp"

namespace pillion::io::testing {
namespace {

TEST(listen_spec, forms_that_are_understood) {
    const auto tcp = parse_listen_spec("0.0.0.0:8080");
    ASSERT_TRUE(tcp);
    EXPECT_EQ(tcp->host, "0.0.0.0");
    EXPECT_EQ(tcp->port, 8080);
    EXPECT_FALSE(is_loopback(*tcp));
    EXPECT_EQ(parse_listen_spec("[::1]:80")->host, "::1");
    EXPECT_EQ(parse_listen_spec(":0")->host, "127.0.0.1");
    EXPECT_EQ(parse_listen_spec("unix:/run/x")->path, "/run/x");
    EXPECT_EQ(parse_listen_spec("fd:3")->fd, 3);
    EXPECT_EQ(parse_listen_spec("h:1")->scheme, listen_scheme::usual);
    EXPECT_EQ(parse_listen_spec("http://h:1")->scheme, listen_scheme::http);
    EXPECT_EQ(parse_listen_spec("https://[::1]:1")->scheme, listen_scheme::https);
    EXPECT_EQ(parse_listen_spec("https://[::1]:1")->host, "::1");
    for (const char* local : {"127.9.9.9:1", "[::1]:1", "localhost:1", "unix:/x"}) {
        EXPECT_TRUE(is_loopback(*parse_listen_spec(local))) << local;
    }
    for (const char* wide : {"[::]:1", "example.org:1", "10.0.0.1:1"}) {
        EXPECT_FALSE(is_loopback(*parse_listen_spec(wide))) << wide;
    }
}

TEST(listen_spec, forms_that_are_refused) {
    for (const char* bad : {"", "8080", "host:", "host:65536", "host:-1", "host:1x", "::1:80",
                            "[::1:80", "[]:1", "unix:", "fd:", "fd:x", "fd:-1", "http://h",
                            "http://h:1/", "https://", "ftp://h:1", "http://unix:/x"}) {
        EXPECT_FALSE(parse_listen_spec(bad)) << bad;
    }
}

TEST(listeners, shards_share_one_chosen_port_and_connections_spread) {
    auto all = open_listeners(*parse_listen_spec("127.0.0.1:0"), 3);
    ASSERT_TRUE(all);
    const std::uint16_t port = local_port((*all)[0].fd());
    for (const auto& s : *all) {
        EXPECT_EQ(local_port(s.fd()), port);
    }
    std::vector<int> clients;
    for (int i = 0; i < 60; ++i) {
        clients.push_back(connect_to(port));
    }
    int shards_hit = 0;
    int accepted = 0;
    for (const auto& s : *all) {
        int mine = 0;
        for (int fd; (fd = ::accept4(s.fd(), nullptr, nullptr, 0)) >= 0; ++mine) {
            ::close(fd);
        }
        accepted += mine;
        shards_hit += mine > 0 ? 1 : 0;
    }
    EXPECT_EQ(accepted, 60);
    EXPECT_EQ(shards_hit, 3);
    for (const int fd : clients) {
        ::close(fd);
    }
}

std::string congestion_control_of(int fd) {
    char name[32] = {};
    socklen_t bytes = sizeof name - 1;
    EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes), 0);
    return name;
}

// Answers of 32 KiB took 11 % more time where the system's control (BBR) paced them.
TEST(listeners, connections_over_the_loopback_have_no_pacing_and_others_what_the_system_says) {
    std::string system;
    std::ifstream("/proc/sys/net/ipv4/tcp_congestion_control") >> system;
    for (const char* where : {"127.0.0.1:0", "0.0.0.0:0"}) {
        for (const std::size_t shards : {1U, 2U}) {
            auto all = open_listeners(*parse_listen_spec(where), shards);
            ASSERT_TRUE(all) << where;
            for (const auto& s : *all) {
                const std::string wanted = where[0] == '1' ? "reno" : system;
                EXPECT_EQ(congestion_control_of(s.fd()), wanted) << where;
            }
            const int client = connect_to(local_port((*all)[0].fd()));
            int accepted = -1;
            for (std::size_t i = 0; accepted < 0; i = (i + 1) % shards) {
                accepted = ::accept((*all)[i].fd(), nullptr, nullptr);
            }
            EXPECT_EQ(congestion_control_of(accepted), where[0] == '1' ? "reno" : system);
            EXPECT_EQ(congestion_control_of(client), system);
            ::close(accepted);
            ::close(client);
        }
    }
}

TEST(listeners, a_port_in_use_is_an_error_shared_or_not) {
    for (const std::size_t first : {1U, 2U}) {
        auto held = open_listeners(*parse_listen_spec("127.0.0.1:0"), first);
        ASSERT_TRUE(held);
        const std::string spec = "127.0.0.1:" + std::to_string(local_port((*held)[0].fd()));
        for (const std::size_t second : {1U, 2U}) {
            auto again = open_listeners(*parse_listen_spec(spec), second);
            ASSERT_FALSE(again);
            EXPECT_EQ(again.error().os_errno, EADDRINUSE);
        }
        held = std::vector<listen_socket>();
        EXPECT_TRUE(open_listeners(*parse_listen_spec(spec), 2));
    }
}

TEST(listeners, unix_socket_rules) {
    const std::string path = "/tmp/pillion-sock-" + std::to_string(::getpid());
    const auto spec = *parse_listen_spec("unix:" + path);
    {
        auto live = open_listeners(spec, 2);
        ASSERT_TRUE(live);
        struct stat info{};
        ASSERT_EQ(::stat(path.c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777U, 0600U);
        auto second = open_listeners(spec, 1);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().os_errno, EADDRINUSE);
        EXPECT_EQ(local_address((*live)[1].fd()), "unix:" + path);
    }
    EXPECT_NE(::access(path.c_str(), F_OK), 0) << "removed at close";
    // A stale file: bound by a process that is gone.
    const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    ::close(dead);
    {
        auto taken_over = open_listeners(spec, 1);
        ASSERT_TRUE(taken_over);
        // Somebody replaces the file: it is not ours to remove any more.
        ::unlink(path.c_str());
        std::ofstream(path) << "other";
    }
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
    auto plain = open_listeners(spec, 1);
    ASSERT_FALSE(plain);
    EXPECT_EQ(plain.error().os_errno, EEXIST);
    ::unlink(path.c_str());
}

// Who connected between the last accept and the close of a unix socket was reset.
TEST(listeners, a_unix_socket_that_refuses_still_yields_who_came_before) {
    const std::string path = "/tmp/pillion-sock-" + std::to_string(::getpid());
    auto made = open_listeners(*parse_listen_spec("unix:" + path), 1);
    ASSERT_TRUE(made);
    const int listening = (*made)[0].fd();
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    const auto connects = [&name](int fd) {
        return ::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
    };
    const int early = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const int late = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_TRUE(connects(early));
    refuse_connects(listening);
    EXPECT_FALSE(connects(late));
    EXPECT_EQ(errno, ECONNREFUSED);
    const int accepted = ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK);
    EXPECT_GE(accepted, 0);
    EXPECT_LT(::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK), 0);
    for (const int fd : {early, late, accepted}) {
        ::close(fd);
    }
}

TEST(listeners, inherited_descriptors_must_listen) {
    auto made = open_listeners(*parse_listen_spec("127.0.0.1:0"), 1);
    const int fd = (*made)[0].fd();
    const auto spec = *parse_listen_spec("fd:" + std::to_string(fd));
    EXPECT_TRUE(is_loopback(spec));
    auto adopted = open_listeners(spec, 2);
    ASSERT_TRUE(adopted);
    EXPECT_EQ(local_port((*adopted)[1].fd()), local_port(fd));
    EXPECT_FALSE(open_listeners(*parse_listen_spec("fd:0"), 1));
    EXPECT_FALSE(open_listeners(*parse_listen_spec("fd:9999"), 1));
}

TEST(peers, names) {
    auto made = open_listeners(*parse_listen_spec("127.0.0.1:0"), 1);
    const int client = connect_to(local_port((*made)[0].fd()));
    const int ours = ::accept4((*made)[0].fd(), nullptr, nullptr, 0);
    const peer_name peer = peer_of(ours);
    EXPECT_EQ(peer.view(), local_address(client));
    EXPECT_EQ(peer.address(), "127.0.0.1");
    int nodelay = 0;
    socklen_t bytes = sizeof nodelay;
    ::getsockopt(ours, IPPROTO_TCP, 1, &nodelay, &bytes);
    EXPECT_NE(nodelay, 0) << "inherited from the listening socket";
    ::close(ours);
    ::close(client);
    EXPECT_EQ(peer_of(-1).view(), "unknown");
    EXPECT_GT(raise_descriptor_limit(), 0U);
}

}  // namespace
}  // namespace pillion::io::testing
