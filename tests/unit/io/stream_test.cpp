// tcp_stream, listener, stdio_stream, signals over the real kernel.

#include <array>
#include <thread>
#include <utility>

#include "backend_fixture.hpp"
#include "io/listener.hpp"
#include "io/signals.hpp"
#include "io/stdio_stream.hpp"
#include "io/tcp_stream.hpp"
#include "io/uring_probe.hpp"
#include "sim/stream_harness.hpp"
#include "unit/base/shared_chunk.hpp"

namespace pillion::io::testing {
namespace {

using sim::chunk_of;
using sim::recording_reader;

class stream_test : public backend_test {};

TEST_P(stream_test, megabytes_both_ways_over_tcp) {
    auto sockets = open_listeners(*parse_listen_spec("127.0.0.1:0"), 1);
    struct sink final : connection_sink {
        int fd = -1;
        bool closed = false;
        void on_connection(int got) noexcept override { fd = got; }
        void on_listener_closed() noexcept override { closed = true; }
    } s;
    listener l(*loop, (*sockets)[0].fd(), s);
    l.start();
    const int client = connect_to(local_port((*sockets)[0].fd()));
    ASSERT_TRUE(until([&] { return s.fd >= 0; }));
    const int small = 64 * 1024;
    ::setsockopt(s.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    tcp_stream stream(*loop, s.fd, peer_of(s.fd));
    recording_reader reader;
    reader.when_data = [&](std::string_view got) {
        if (!stream.write(chunk_of(loop->chunks(), got))) {
            stream.pause_reading();
        }
    };
    reader.when_drained = [&] { stream.resume_reading(); };
    reader.when_eof = [&] { stream.close(true); };
    stream.start(reader);
    std::string sent;
    for (int i = 0; i < 4'000'000; ++i) {
        sent += static_cast<char>(i * 7 % 251);
    }
    std::string got;
    std::thread writer([&] {
        for (std::size_t at = 0; at < sent.size();) {
            const ssize_t n = ::write(client, sent.data() + at, sent.size() - at);
            if (n <= 0) {
                break;
            }
            at += static_cast<std::size_t>(n);
        }
        ::shutdown(client, SHUT_WR);
    });
    std::thread slow_reader([&] {
        char buf[50'000];
        ::usleep(300'000);
        for (ssize_t n; (n = ::read(client, buf, sizeof buf)) > 0;) {
            got.append(buf, static_cast<std::size_t>(n));
        }
    });
    EXPECT_TRUE(until([&] { return reader.closed == 1; }));
    writer.join();
    loop->run_one(0);
    slow_reader.join();
    EXPECT_TRUE(got == sent);
    EXPECT_GT(reader.drained, 0);
    l.close(0);
    ASSERT_TRUE(until([&] { return s.closed; }));
    ::close(client);
}

// A stream over one end of a pair of sockets, which closes when the other does.
struct piped_stream {
    int theirs;
    tcp_stream stream;
    recording_reader reader;
    std::string got;  // at the other end

    explicit piped_stream(reactor& on) : piped_stream(on, pair()) {}
    ~piped_stream() { hang_up(); }
    void hang_up() {
        if (theirs >= 0) {
            ::close(std::exchange(theirs, -1));
        }
    }
    void read_some(std::size_t most) {
        std::string some(most, '\0');
        const ssize_t n = ::read(theirs, some.data(), most);
        got.append(some, 0, n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    // Reads what has come; how much that is by now.
    std::size_t read_all() {
        char buffer[100'000];
        for (ssize_t n; (n = ::read(theirs, buffer, sizeof buffer)) > 0;) {
            got.append(buffer, static_cast<std::size_t>(n));
        }
        return got.size();
    }

 private:
    static std::array<int, 2> pair() {
        std::array<int, 2> ends{-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()),
                  0);
        return ends;
    }
    piped_stream(reactor& on, std::array<int, 2> ends)
        : theirs(ends[1]), stream(on, ends[0], peer_of(ends[0])) {
        reader.when_eof = [this] { stream.close(true); };
        stream.start(reader);
    }
};

// W2 kept 64 replies of 32 KiB until the end of a turn, and read each back from beyond the caches.
TEST_P(stream_test, a_large_message_leaves_when_it_is_written_but_overtakes_nothing) {
    piped_stream pipe(*loop);
    tcp_stream& stream = pipe.stream;
    const std::string large(20'000, 'l');
    const std::string larger(2'000'000, 'r');  // more than the system takes
    EXPECT_TRUE(stream.write(chunk_of(loop->chunks(), large)));
    EXPECT_EQ(stream.queued_bytes(), 0U);
    EXPECT_EQ(pipe.read_all(), large.size());
    stream.write(chunk_of(loop->chunks(), "small"));
    stream.write(chunk_of(loop->chunks(), large));
    EXPECT_EQ(pipe.read_all(), large.size());
    stream.write(chunk_of(loop->chunks(), larger));
    stream.write(chunk_of(loop->chunks(), "end"));
    const std::string all = large + "small" + large + larger + "end";
    EXPECT_TRUE(until([&] { return pipe.read_all() == all.size() && stream.queued_bytes() == 0; }));
    EXPECT_TRUE(pipe.got == all);
    // Alone, and in part.
    stream.write(chunk_of(loop->chunks(), larger));
    EXPECT_GT(stream.queued_bytes(), 0U);
    EXPECT_LT(stream.queued_bytes(), larger.size());
    EXPECT_TRUE(until([&] { return pipe.read_all() == all.size() + larger.size(); }));
    EXPECT_TRUE(pipe.got == all + larger);
    pipe.hang_up();
    EXPECT_TRUE(until([&] { return pipe.reader.closed == 1; }));
}

// The end of an event stream, "0\r\n\r\n", cut it when a large event was in front of it.
TEST_P(stream_test, a_large_message_may_pass_the_cap_with_others_around_it) {
    piped_stream pipe(*loop);
    tcp_stream& stream = pipe.stream;
    const std::string large(2 * loop->output().hard, 'l');
    stream.write(chunk_of(loop->chunks(), "head"));
    stream.write(chunk_of(loop->chunks(), large));
    stream.write(chunk_of(loop->chunks(), "small"));
    stream.write_static("end");
    loop->run_one(0);
    stream.write_static("late");
    const std::string all = "head" + large + "smallendlate";
    EXPECT_TRUE(until([&] { return pipe.read_all() == all.size(); }));
    EXPECT_TRUE(pipe.got == all);
    EXPECT_EQ(pipe.reader.closed, 0);
    pipe.hang_up();
    EXPECT_TRUE(until([&] { return pipe.reader.closed == 1; }));
}

// On io_uring it stood still until the last byte had gone: whoever read slowly was taken for one
// that does not read.
TEST_P(stream_test, what_is_queued_falls_while_a_large_message_is_read) {
    for (const std::size_t messages : {1U, 3U}) {
        piped_stream pipe(*loop);
        const std::string large(2'000'000, 'l');
        for (std::size_t i = 0; i < messages; ++i) {
            pipe.stream.write(chunk_of(loop->chunks(), large));
        }
        loop->run_one(0);
        std::size_t seen = pipe.stream.queued_bytes();
        for (int falls = 0; falls < 3; ++falls) {
            EXPECT_TRUE(until([&] {
                pipe.read_some(20'000);
                return pipe.stream.queued_bytes() < seen;
            }));
            seen = pipe.stream.queued_bytes();
            EXPECT_GT(seen, 0U);
        }
        EXPECT_TRUE(until([&] { return pipe.read_all() == messages * large.size(); }));
        pipe.hang_up();
        EXPECT_TRUE(until([&] { return pipe.reader.closed == 1; }));
    }
}

// Sending a large message at once notes in its chunk what is sent; of a shared one nobody may.
TEST_P(stream_test, a_large_shared_message_is_the_same_for_all) {
    const std::string large(300'000, 'l');  // more than the system takes at once
    base::chunk* const shared = pillion::testing::full_chunk(loop->chunks(), large);
    for (int i = 0; i < 2; ++i) {
        piped_stream pipe(*loop);
        for (int n = 0; n < 2; ++n) {
            ASSERT_TRUE(base::chunk_pool::share(*shared));
            pipe.stream.write(shared);
        }
        EXPECT_EQ(shared->size(), large.size());
        EXPECT_TRUE(until([&] {
            return pipe.read_all() == 2 * large.size() && pipe.stream.queued_bytes() == 0;
        }));
        EXPECT_TRUE(pipe.got == large + large);
        EXPECT_EQ(shared->size(), large.size());
        pipe.hang_up();
        EXPECT_TRUE(until([&] { return pipe.reader.closed == 1; }));
    }
    EXPECT_EQ(shared->shares, 0U);
    base::chunk_pool::give(shared);
}

// To whom nobody listens any more: the fault comes as any other does.
TEST_P(stream_test, a_large_message_to_nobody_ends_the_stream) {
    piped_stream pipe(*loop);
    pipe.hang_up();
    EXPECT_TRUE(pipe.stream.write(chunk_of(loop->chunks(), std::string(20'000, 'l'))));
    EXPECT_EQ(pipe.reader.closed, 0);  // not within the call
    EXPECT_TRUE(until([&] { return pipe.reader.closed == 1; }));
}

// A body of 32 KiB came in nine pieces, or in five where many came at once.
TEST_P(stream_test, large_messages_come_in_few_pieces) {
    constexpr std::size_t count = 24;  // more than fits the buffers at once
    std::string sent(40'000, ' ');
    for (std::size_t i = 0; i < sent.size(); ++i) {
        sent[i] = static_cast<char>(i * 7 % 251);
    }
    struct one {
        explicit one(reactor& on, int fd) : stream(on, fd, peer_of(fd)) {}
        tcp_stream stream;
        recording_reader reader;
        std::size_t pieces = 0;
    };
    std::vector<std::unique_ptr<one>> all;
    std::vector<int> theirs;
    for (std::size_t i = 0; i < count; ++i) {
        int ends[2] = {-1, -1};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        all.push_back(std::make_unique<one>(*loop, ends[0]));
        theirs.push_back(ends[1]);
        one& o = *all.back();
        o.reader.when_data = [&o](std::string_view) { ++o.pieces; };
        o.reader.when_eof = [&o] { o.stream.close(true); };
        o.stream.start(o.reader);
    }
    for (const int fd : theirs) {
        ASSERT_EQ(::write(fd, sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
        ::close(fd);
    }
    std::size_t pieces = 0;
    for (const auto& o : all) {
        ASSERT_TRUE(until([&] { return o->reader.closed == 1; }));
        EXPECT_TRUE(o->reader.bytes == sent);
        pieces += o->pieces;
    }
    const std::string_view name = GetParam();
    if (name == "epoll" || (name == "uring" && completes_in_order())) {
        EXPECT_LE(pieces, 2 * count);
    } else {
        EXPECT_GE(pieces, 10 * count);
    }
}

// Kernels from 6.17 on end a multishot receive from a unix socket without its end of stream when
// that comes together with data.
TEST_P(stream_test, unix_sockets_end_whatever_the_end_comes_with) {
    constexpr int ways = 6;
    for (int round = 0; round < 20 * ways; ++round) {
        const int way = round % ways;
        int ends[2] = {-1, -1};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        tcp_stream stream(*loop, ends[0], peer_of(ends[0]));
        recording_reader reader;
        reader.when_eof = [&] { stream.close(true); };
        stream.start(reader);
        std::string sent;
        const auto send = [&](std::size_t bytes) {
            const std::string piece(bytes, static_cast<char>('a' + round % 26));
            ASSERT_EQ(::write(ends[1], piece.data(), bytes), static_cast<ssize_t>(bytes));
            sent += piece;
        };
        for (int piece = 0; piece < round % 4; ++piece) {
            send(std::size_t{1} + static_cast<std::size_t>(piece) * 5000);
            ASSERT_TRUE(until([&] { return reader.bytes.size() == sent.size(); }));
        }
        if (way == 5) {
            stream.pause_reading();
            loop->run_one(0);
        }
        if (way != 2 && way != 3) {
            send(way == 4 ? 20'000 : 100);
        }
        if (way == 1 || way == 3 || way == 5) {
            ::shutdown(ends[1], SHUT_WR);
        } else {
            ::close(std::exchange(ends[1], -1));
        }
        if (way == 5) {
            loop->run_one(0);
            stream.resume_reading();
        }
        ASSERT_TRUE(until([&] { return reader.closed == 1; })) << round;
        EXPECT_EQ(reader.bytes.size(), sent.size()) << round;
        EXPECT_TRUE(reader.bytes == sent) << round;
        if (ends[1] >= 0) {
            ::close(ends[1]);
        }
    }
}

TEST_P(stream_test, stdio_over_pipes) {
    int in[2];
    int out[2];
    ASSERT_EQ(::pipe2(in, O_CLOEXEC) + ::pipe2(out, O_CLOEXEC), 0);
    stdio_stream stream(*loop, in[0], out[1]);
    recording_reader reader;
    reader.when_data = [&](std::string_view got) { stream.write(chunk_of(loop->chunks(), got)); };
    reader.when_eof = [&] { stream.close(true); };
    stream.start(reader);
    ASSERT_EQ(::write(in[1], "line\n", 5), 5);
    ASSERT_TRUE(until([&] { return reader.bytes.size() == 5; }));
    ::close(in[1]);
    ASSERT_TRUE(until([&] { return reader.closed == 1; }));
    char buf[16];
    EXPECT_EQ(::read(out[0], buf, sizeof buf), 5);
    EXPECT_EQ(::fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
    ops().close(in[0]);
    ops().close(out[1]);
    ::close(out[0]);
}

TEST_P(stream_test, signals_reach_the_reactor) {
    signal_watch::block();
    int got = 0;
    signal_watch watch(*loop, [&](int number) { got = number; });
    ASSERT_TRUE(watch.start());
    for (const int number : {SIGHUP, SIGTERM, SIGINT}) {
        ::kill(::getpid(), number);
        ASSERT_TRUE(until([&] { return got == number; }));
    }
    watch.close();
    ASSERT_TRUE(until([&] { return watch.closed(); }));
}

TEST_P(stream_test, signals_that_come_to_an_older_thread_reach_the_reactor_too) {
    signal_watch::block();
    int got = 0;
    signal_watch watch(*loop, [&](int number) { got = number; });
    ASSERT_TRUE(watch.start());
    for (const int number : {SIGHUP, SIGTERM, SIGINT}) {
        bool blocks = false;
        std::thread older([&] {
            sigset_t mask;
            sigemptyset(&mask);
            ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
            ::raise(number);
            ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
            blocks = sigismember(&mask, number) == 1;
        });
        older.join();
        EXPECT_TRUE(blocks);
        ASSERT_TRUE(until([&] { return got == number; }));
    }
    watch.close();
    ASSERT_TRUE(until([&] { return watch.closed(); }));
}

// A child that the program had forked could not be ended but by SIGKILL.
TEST_P(stream_test, a_forked_child_still_ends_by_signals) {
    signal_watch::block();
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            sigset_t mask;
            sigemptyset(&mask);
            ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
            ::raise(number);
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status));
        EXPECT_EQ(WTERMSIG(status), number);
    }
}

void own_handler(int /*number*/) {}

// Children are seen to end, and a program that embeds us keeps its own handler.
TEST_P(stream_test, of_ended_children_only_what_would_hide_them_is_changed) {
    struct sigaction before{};
    ASSERT_EQ(::sigaction(SIGCHLD, nullptr, &before), 0);
    struct sigaction now{};
    ::signal(SIGCHLD, SIG_IGN);
    signal_watch::block();
    ASSERT_EQ(::sigaction(SIGCHLD, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
    struct sigaction own{};
    own.sa_handler = &own_handler;
    own.sa_flags = SA_NOCLDWAIT | SA_NOCLDSTOP;
    ASSERT_EQ(::sigaction(SIGCHLD, &own, nullptr), 0);
    signal_watch::block();
    ASSERT_EQ(::sigaction(SIGCHLD, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, &own_handler);
    EXPECT_EQ(now.sa_flags & (SA_NOCLDWAIT | SA_NOCLDSTOP), SA_NOCLDSTOP);
    ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
}

INSTANTIATE_TEST_SUITE_P(kernels, stream_test, ::testing::ValuesIn(testing::every_backend),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace
}  // namespace pillion::io::testing
