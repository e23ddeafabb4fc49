// A connection over a real socket and the epoll backend: what the fake stream cannot show, such as
// answers that survive a refused body (lingering close) and pausing with data in the system.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "connection_fixture.hpp"
#include "io/backend_factory.hpp"
#include "io/tcp_stream.hpp"

namespace pillion::http::testing {
namespace {

class socket_world {
 public:
    socket_world() : loop(make()), server_(loop, handler, server_limits()) {
        int ends[2] = {-1, -1};
        PILLION_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) ==
                       0);
        peer_fd = ends[1];
        server_.serve(std::make_unique<io::tcp_stream>(loop, ends[0], io::peer_name()));
    }
    ~socket_world() {
        server_.close_all();
        for (int i = 0; i < 1000 && !server_.idle(); ++i) {
            loop.run_one(1'000'000);
        }
        hang_up();
        loop.drain(1000);
        PILLION_ASSERT(server_.idle() && loop.chunks().live() == 0);
    }

    // Writes all of `bytes` and reads what comes, until nothing moves any more. A turn receives one
    // buffer, and room to write comes back in larger steps: hence so many quiet turns.
    void talk(std::string_view bytes) {
        for (int quiet = 0; quiet < 100;) {
            const ssize_t n =
                bytes.empty() ? -1 : ::send(peer_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            bytes.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
            loop.run_one(100'000);
            const bool got = read();
            quiet = n > 0 || got ? 0 : quiet + 1;
        }
        unsent = bytes.size();
    }
    void hang_up() {
        if (peer_fd >= 0) {
            ::close(std::exchange(peer_fd, -1));
        }
    }

    test_handler handler;
    io::reactor loop;
    class server server_;
    int peer_fd = -1;
    std::string received;
    std::size_t unsent = 0;
    bool end_seen = false;

 private:
    static std::unique_ptr<io::backend> make() {
        std::string note;
        auto made = io::make_backend(io::backend_mode::epoll, note);
        PILLION_ASSERT(made.ok());
        return std::move(*made);
    }
    bool read() {
        char block[65536];
        const ssize_t n = ::recv(peer_fd, block, sizeof(block), 0);
        if (n > 0) {
            received.append(block, static_cast<std::size_t>(n));
        }
        end_seen = end_seen || n == 0;
        return n > 0;
    }
};

TEST(connection_socket, requests_and_large_replies_cross_it_whole) {
    socket_world all;
    const std::string body(900'000, 'x');
    std::string bytes;
    for (int i = 0; i < 3; ++i) {
        bytes += "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + body;
    }
    all.talk(bytes);
    const auto replies = read_replies(all.received);
    ASSERT_EQ(replies.size(), 3U);
    for (const reply& r : replies) {
        EXPECT_TRUE(r.body == "POST /b " + body);
    }
}

TEST(connection_socket, refusal_is_read_although_the_body_keeps_coming) {
    socket_world all;
    all.talk("POST /404 HTTP/1.1\r\nHost: x\r\nContent-Length: 1500000\r\n\r\n" +
             std::string(1'500'000, 'x'));
    EXPECT_EQ(all.unsent, 0U);
    EXPECT_TRUE(all.end_seen);
    EXPECT_EQ(read_replies(all.received).at(0).status, 404);
    EXPECT_EQ(all.server_.connections(), 1U);
    all.hang_up();
    for (int i = 0; i < 10; ++i) {
        all.loop.run_one(2'000'000);
    }
    EXPECT_TRUE(all.server_.idle());
}

TEST(connection_socket, pipeline_of_a_thousand_with_later_answers) {
    socket_world all;
    all.handler.later = true;
    std::string bytes;
    for (int i = 0; i < 1000; ++i) {
        bytes +=
            "POST /n" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    }
    all.talk(bytes);
    ASSERT_EQ(all.unsent, 0U);
    for (int i = 0; i < 1000; ++i) {
        for (int turns = 0; turns < 10 && all.handler.pending == nullptr; ++turns) {
            all.loop.run_one(2'000'000);
        }
        ASSERT_NE(all.handler.pending, nullptr) << i;
        all.handler.answer();
        if (i % 100 == 99) {
            all.talk({});  // who reads nothing is not asked for more
        }
    }
    all.talk({});
    const auto replies = read_replies(all.received);
    ASSERT_EQ(replies.size(), 1000U);
    for (std::size_t i = 0; i < replies.size(); ++i) {
        ASSERT_EQ(replies[i].body, "POST /n" + std::to_string(i) + " abc");
    }
}

TEST(connection_socket, disconnect_during_a_stream_is_told_even_while_reading_is_paused) {
    for (const bool flood : {false, true}) {
        socket_world all;
        all.handler.later = true;
        all.talk("GET /s HTTP/1.1\r\nHost: x\r\n\r\n");
        ASSERT_NE(all.handler.pending, nullptr);
        all.handler.pending->begin_sse();
        if (flood) {
            all.talk(std::string(60'000, '\n'));
        }
        all.hang_up();
        for (int i = 0; i < 20; ++i) {
            all.loop.run_one(2'000'000);
        }
        EXPECT_EQ(all.handler.gones + all.handler.peer_eofs, 1) << flood;
        if (all.handler.pending != nullptr) {
            std::exchange(all.handler.pending, nullptr)->end_sse();
        }
    }
}

}  // namespace
}  // namespace pillion::http::testing
