// Every backend must behave alike: each test runs over io_uring as it is, io_uring as old kernels
// have it, and epoll.
#include <pty.h>
#include <sys/poll.h>
#include <sys/stat.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "backend_fixture.hpp"
#include "io/socket.hpp"

namespace pillion::io::testing {
namespace {

TEST_P(backend_test, accepts_many_connections_with_one_op) {
    auto sockets = open_listeners(*parse_listen_spec("127.0.0.1:0"), 1);
    ASSERT_TRUE(sockets);
    recorder accepting;
    ops().accept(accepting, (*sockets)[0].fd());
    std::vector<int> clients;
    for (int i = 0; i < 20; ++i) {
        clients.push_back(connect_to(local_port((*sockets)[0].fd())));
    }
    ASSERT_TRUE(until([&] { return accepting.results.size() == 20; }));
    const std::vector<std::int32_t> accepted = accepting.results;
    for (const int fd : accepted) {
        EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
        EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
        ops().close(fd);
    }
    ops().cancel(accepting);
    ASSERT_TRUE(until([&] { return accepting.finished; }));
    EXPECT_EQ(accepting.last(), -ECANCELED);
    for (const int fd : clients) {
        ::close(fd);
    }
}

TEST_P(backend_test, receives_pieces_and_the_end) {
    socket_pair pair(ops());
    recorder receiving;
    ops().receive(receiving, pair.ours);
    for (const char* piece : {"a", "bc", "def"}) {
        const std::size_t before = receiving.bytes.size();
        ASSERT_GT(::write(pair.theirs, piece, strlen(piece)), 0);
        ASSERT_TRUE(until([&] { return receiving.bytes.size() == before + strlen(piece); }));
        EXPECT_FALSE(receiving.finished);
    }
    ASSERT_GT(::write(pair.theirs, "last", 4), 0);
    pair.hang_up();
    ASSERT_TRUE(until([&] { return receiving.finished; }));
    EXPECT_EQ(receiving.bytes, "abcdeflast");
    EXPECT_EQ(receiving.last(), 0);
}

TEST_P(backend_test, receives_more_than_all_buffers_hold) {
    open_loop(4);
    socket_pair pair(ops());
    recorder receiving;
    receiving.then = [&](const completion& what) {
        if (!what.more && what.res == -ENOBUFS) {
            ops().receive(receiving, pair.ours);
        }
    };
    ops().receive(receiving, pair.ours);
    std::string sent;
    for (int i = 0; i < 300'000; ++i) {
        sent += static_cast<char>('a' + i % 23);
    }
    std::thread peer([&] {
        std::size_t at = 0;
        while (at < sent.size()) {
            at +=
                static_cast<std::size_t>(::write(pair.theirs, sent.data() + at, sent.size() - at));
        }
        ::shutdown(pair.theirs, SHUT_WR);
    });
    EXPECT_TRUE(until([&] { return receiving.finished && receiving.last() == 0; }));
    peer.join();
    EXPECT_EQ(receiving.bytes, sent);
}

TEST_P(backend_test, starved_receivers_are_all_served) {
    open_loop(8);
    constexpr std::size_t count = 300;
    raise_descriptor_limit();
    std::vector<std::unique_ptr<socket_pair>> pairs;
    std::vector<std::unique_ptr<recorder>> receivers;
    for (std::size_t i = 0; i < count; ++i) {
        pairs.push_back(std::make_unique<socket_pair>(ops()));
        receivers.push_back(std::make_unique<recorder>());
        recorder& r = *receivers.back();
        const int fd = pairs.back()->ours;
        r.then = [this, &r, fd](const completion& what) {
            if (!what.more && what.res == -ENOBUFS) {
                ops().receive(r, fd);
            }
        };
        ops().receive(r, fd);
    }
    turns(2);
    for (auto& p : pairs) {
        ASSERT_EQ(::write(p->theirs, "0123456789", 10), 10);
        ::shutdown(p->theirs, SHUT_WR);
    }
    ASSERT_TRUE(until([&] {
        return std::all_of(receivers.begin(), receivers.end(),
                           [](const auto& r) { return r->finished && r->last() == 0; });
    }));
    for (const auto& r : receivers) {
        EXPECT_EQ(r->bytes, "0123456789");
    }
}

// Receives that share buffers, ended and begun again between others, with more to submit than fits
// the queue: each socket's bytes stay its own.
TEST_P(backend_test, bytes_of_many_sockets_do_not_mix) {
    constexpr std::size_t count = 40;
    std::vector<std::unique_ptr<socket_pair>> pairs;
    std::vector<std::unique_ptr<recorder>> receiving;
    std::vector<std::string> sent(count);
    for (std::size_t i = 0; i < count; ++i) {
        pairs.push_back(std::make_unique<socket_pair>(ops()));
        receiving.push_back(std::make_unique<recorder>());
    }
    std::uint32_t random = 1;
    const auto below = [&random](std::uint32_t n) {
        random = random * 1'664'525 + 1'013'904'223;
        return (random >> 8) % n;
    };
    for (int round = 0; round < 400; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            if (!receiving[i]->in_flight) {
                ops().receive(*receiving[i], pairs[i]->ours);
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (below(3) > 0) {
                const std::uint32_t size = below(8) == 0 ? 20'000 : 600;
                std::string piece(1 + below(size), '\0');
                for (char& c : piece) {
                    c = static_cast<char>(below(256));
                }
                ASSERT_EQ(::write(pairs[i]->theirs, piece.data(), piece.size()),
                          static_cast<ssize_t>(piece.size()));
                sent[i] += piece;
            }
        }
        if (round % 5 == 0) {
            for (const auto& r : receiving) {
                ops().cancel(*r);
            }
        }
        loop->run_one(0);
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!receiving[i]->in_flight) {
            ops().receive(*receiving[i], pairs[i]->ours);
        }
        pairs[i]->hang_up();
        ASSERT_TRUE(until([&] {
            if (!receiving[i]->in_flight && receiving[i]->last() < 0) {
                ops().receive(*receiving[i], pairs[i]->ours);
            }
            return receiving[i]->last() == 0;
        })) << i;
        EXPECT_TRUE(receiving[i]->bytes == sent[i]) << i;
    }
}

TEST_P(backend_test, reset_ends_a_receive) {
    auto sockets = open_listeners(*parse_listen_spec("127.0.0.1:0"), 1);
    const int client = connect_to(local_port((*sockets)[0].fd()));
    const int ours = ::accept4((*sockets)[0].fd(), nullptr, nullptr, SOCK_NONBLOCK);
    if (ours < 0) {
        FAIL() << "accept";
    }
    recorder receiving;
    ops().receive(receiving, ours);
    turns(1);
    const linger now{1, 0};
    ::setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::close(client);
    ASSERT_TRUE(until([&] { return receiving.finished; }));
    EXPECT_EQ(receiving.last(), -ECONNRESET);
    ops().close(ours);
}

TEST_P(backend_test, sends_everything_to_a_slow_reader) {
    socket_pair pair(ops());
    const std::string first(700'000, 'x');
    const std::string second(900'000, 'y');
    std::size_t sent = 0;
    iovec parts[2];
    recorder sending;
    const auto next = [&] {
        const std::size_t from = std::min(sent, first.size());
        const std::size_t in_second = sent - from;
        parts[0] = {const_cast<char*>(first.data()) + from, first.size() - from};
        parts[1] = {const_cast<char*>(second.data()) + in_second, second.size() - in_second};
        ops().send(sending, pair.ours, parts, 2);
    };
    sending.then = [&](const completion& what) {
        ASSERT_GT(what.res, 0);
        sent += static_cast<std::size_t>(what.res);
        if (sent < first.size() + second.size()) {
            next();
        }
    };
    std::string got;
    std::thread peer([&] {
        char buf[30'000];
        while (got.size() < first.size() + second.size()) {
            const ssize_t n = ::read(pair.theirs, buf, sizeof buf);
            if (n <= 0) {
                break;
            }
            got.append(buf, static_cast<std::size_t>(n));
        }
    });
    next();
    EXPECT_TRUE(until([&] { return sent == first.size() + second.size(); }));
    peer.join();
    EXPECT_TRUE(got == first + second);
}

TEST_P(backend_test, send_to_a_closed_peer_fails_without_signal) {
    socket_pair pair(ops());
    pair.hang_up();
    iovec part{const_cast<char*>("x"), 1};
    recorder sending;
    ops().send(sending, pair.ours, &part, 1);
    ASSERT_TRUE(until([&] { return sending.finished; }));
    EXPECT_EQ(sending.last(), -EPIPE);
}

TEST_P(backend_test, cancel_ends_every_kind_of_op_once) {
    socket_pair pair(ops());
    auto sockets = open_listeners(*parse_listen_spec("127.0.0.1:0"), 1);
    int pipe_ends[2];
    ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
    std::string big(8 << 20, 'x');
    iovec part{big.data(), big.size()};
    char to[16];
    recorder accepting, receiving, sending, reading;
    ops().accept(accepting, (*sockets)[0].fd());
    ops().receive(receiving, pair.ours);
    ops().read(reading, pipe_ends[0], to, sizeof to);
    turns(1);
    socket_pair full(ops());
    ops().send(sending, full.ours, &part, 1);  // nobody reads
    turns(1);
    for (recorder* r : {&accepting, &receiving, &reading, &sending}) {
        ops().cancel(*r);
        ops().cancel(*r);  // twice is once
    }
    ASSERT_TRUE(until([&] {
        return accepting.finished && receiving.finished && reading.finished && sending.finished;
    }));
    for (recorder* r : {&accepting, &receiving, &reading}) {
        EXPECT_EQ(r->results, std::vector<std::int32_t>{-ECANCELED});
    }
    // A send may have moved a part already.
    EXPECT_TRUE(sending.last() > 0 || sending.last() == -ECANCELED);
    EXPECT_EQ(sending.results.size(), 1U);
    ops().close(pipe_ends[0]);
    ::close(pipe_ends[1]);
}

TEST_P(backend_test, cancel_before_the_submission_and_against_arriving_data) {
    for (int round = 0; round < 50; ++round) {
        socket_pair pair(ops());
        recorder receiving;
        ops().receive(receiving, pair.ours);
        if (round % 2 == 0) {
            turns(1);
        }
        ASSERT_EQ(::write(pair.theirs, "data", 4), 4);
        if (round % 5 == 0) {
            turns(1);
        }
        ops().cancel(receiving);
        ASSERT_TRUE(until([&] { return receiving.finished; }));
        EXPECT_EQ(receiving.last(), -ECANCELED);
        EXPECT_TRUE(receiving.bytes.empty() || receiving.bytes == "data");
        // What was not delivered is still there for the next one.
        recorder again;
        ops().receive(again, pair.ours);
        pair.hang_up();
        ASSERT_TRUE(until([&] { return again.finished; }));
        EXPECT_EQ(receiving.bytes + again.bytes, "data");
    }
}

// Where the kernel receives in any system call, the question itself made it receive: a connection
// that was asked whether its request had come was closed.
TEST_P(backend_test, what_was_received_and_not_told_of_is_unread) {
    socket_pair pair(ops());
    recorder receiving;
    ops().receive(receiving, pair.ours);
    turns(1);
    EXPECT_EQ(ops().unread_bytes(pair.ours), 0U);
    ASSERT_EQ(::write(pair.theirs, "unread", 6), 6);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ops().unread_bytes(pair.ours), 6U);
    }
    ASSERT_TRUE(until([&] { return receiving.bytes == "unread"; }));
    EXPECT_EQ(ops().unread_bytes(pair.ours), 0U);
    ops().cancel(receiving);
    ASSERT_TRUE(until([&] { return receiving.finished; }));
}

TEST_P(backend_test, hangup_is_noticed_without_receiving) {
    socket_pair pair(ops());
    recorder watching;
    ops().await_hangup(watching, pair.ours);
    ASSERT_EQ(::write(pair.theirs, "unread", 6), 6);
    turns(3);
    EXPECT_FALSE(watching.finished);
    EXPECT_EQ(ops().unread_bytes(pair.ours), 6U);
    ::shutdown(pair.theirs, SHUT_WR);
    ASSERT_TRUE(until([&] { return watching.finished; }));
    EXPECT_EQ(watching.last(), POLLRDHUP);
    recorder receiving;
    ops().receive(receiving, pair.ours);
    ASSERT_TRUE(until([&] { return receiving.finished; }));
    EXPECT_EQ(receiving.bytes, "unread");
    recorder canceled;
    socket_pair other(ops());
    ops().await_hangup(canceled, other.ours);
    turns(1);
    ops().cancel(canceled);
    ASSERT_TRUE(until([&] { return canceled.finished; }));
    EXPECT_EQ(canceled.last(), -ECANCELED);
}

TEST_P(backend_test, pipes_are_read_and_written_and_stay_blocking) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    char to[64];
    recorder reading, writing;
    ops().read(reading, ends[0], to, sizeof to);
    turns(1);
    EXPECT_FALSE(reading.finished);
    ops().write(writing, ends[1], "hello", 5);
    ASSERT_TRUE(until([&] { return reading.finished && writing.finished; }));
    EXPECT_EQ(std::string(to, 5), "hello");
    EXPECT_EQ(writing.last(), 5);
    EXPECT_EQ(::fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(::fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
    ops().close(ends[1]);
    turns(1);
    recorder end;
    ops().read(end, ends[0], to, sizeof to);
    ASSERT_TRUE(until([&] { return end.finished; }));
    EXPECT_EQ(end.last(), 0);
    ops().close(ends[0]);
}

TEST_P(backend_test, writing_to_a_full_pipe_does_not_block_the_loop) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const std::string text(400'000, 'p');
    std::size_t written = 0;
    recorder writing;
    const auto next = [&] {
        ops().write(writing, ends[1], text.data() + written, text.size() - written);
    };
    writing.then = [&](const completion& what) {
        ASSERT_GT(what.res, 0);
        written += static_cast<std::size_t>(what.res);
        if (written < text.size()) {
            next();
        }
    };
    next();
    turns(30);
    EXPECT_LT(written, text.size());  // nobody read: still waiting, still turning
    std::size_t got = 0;
    std::thread peer([&] {
        char buf[5000];
        while (got < text.size()) {
            got += static_cast<std::size_t>(::read(ends[0], buf, sizeof buf));
        }
    });
    EXPECT_TRUE(until([&] { return written == text.size(); }));
    peer.join();
    recorder broken;
    ops().close(ends[0]);
    turns(1);
    ops().write(broken, ends[1], "x", 1);
    ASSERT_TRUE(until([&] { return broken.finished; }));
    EXPECT_EQ(broken.last(), -EPIPE);
    ops().close(ends[1]);
}

TEST_P(backend_test, non_blocking_pipes_work_too) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    char to[8];
    recorder reading;
    ops().read(reading, ends[0], to, sizeof to);
    turns(3);
    EXPECT_FALSE(reading.finished);
    ASSERT_EQ(::write(ends[1], "late", 4), 4);
    ASSERT_TRUE(until([&] { return reading.finished; }));
    EXPECT_EQ(reading.last(), 4);
    ops().close(ends[0]);
    ops().close(ends[1]);
}

TEST_P(backend_test, regular_files_are_read_to_their_end_and_written) {
    char name[] = "/tmp/pillion-io-XXXXXX";
    const int fd = ::mkstemp(name);
    ASSERT_GE(fd, 0);
    ::unlink(name);
    recorder writing;
    ops().write(writing, fd, "file content", 12);
    ASSERT_TRUE(until([&] { return writing.finished; }));
    EXPECT_EQ(writing.last(), 12);
    ::lseek(fd, 0, SEEK_SET);
    std::string all;
    char to[5];
    for (int i = 0; i < 4; ++i) {
        recorder reading;
        ops().read(reading, fd, to, sizeof to);
        ASSERT_TRUE(until([&] { return reading.finished; }));
        ASSERT_GE(reading.last(), 0);
        all.append(to, static_cast<std::size_t>(reading.last()));
    }
    EXPECT_EQ(all, "file content");
    ops().close(fd);
}

TEST_P(backend_test, terminals_are_read_and_written) {
    int master = -1;
    int tty = -1;
    if (::openpty(&master, &tty, nullptr, nullptr, nullptr) != 0) {
        GTEST_SKIP() << "no pseudo terminals here";
    }
    char to[64];
    recorder reading;
    ops().read(reading, tty, to, sizeof to);
    turns(1);
    EXPECT_FALSE(reading.finished);
    ASSERT_EQ(::write(master, "typed\n", 6), 6);
    ASSERT_TRUE(until([&] { return reading.finished; }));
    EXPECT_EQ(std::string(to, 6), "typed\n");
    // A terminal's write may be interrupted by what else the kernel has for this thread; streams
    // then write again.
    std::int32_t wrote = -EINTR;
    for (int i = 0; i < 10 && wrote == -EINTR; ++i) {
        recorder writing;
        ops().write(writing, tty, "shown", 5);
        ASSERT_TRUE(until([&] { return writing.finished; }));
        wrote = writing.last();
    }
    EXPECT_EQ(wrote, 5);
    recorder waiting;
    ops().read(waiting, tty, to, sizeof to);
    turns(1);
    ops().cancel(waiting);
    ASSERT_TRUE(until([&] { return waiting.finished; }));
    EXPECT_LT(waiting.last(), 0);
    ::close(master);
    ops().close(tty);
}

TEST_P(backend_test, connects_and_reports_refusal) {
    auto sockets = open_listeners(*parse_listen_spec("127.0.0.1:0"), 1);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(local_port((*sockets)[0].fd()));
    for (const bool listening : {true, false}) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        recorder connecting;
        ops().connect(connecting, fd, &to, sizeof to);
        ASSERT_TRUE(until([&] { return connecting.finished; }));
        EXPECT_EQ(connecting.last(), listening ? 0 : -ECONNREFUSED);
        ops().close(fd);
        (*sockets)[0].close();
    }
}

TEST_P(backend_test, wake_from_another_thread_ends_an_endless_turn) {
    for (int i = 0; i < 20; ++i) {
        std::vector<completion> out;
        std::thread other([&] { ops().wake(); });
        ops().turn(-1, out);
        other.join();
        EXPECT_TRUE(out.empty());
    }
    std::vector<completion> out;
    ops().wake();  // before the turn: it must not be lost
    ops().turn(-1, out);
}

TEST_P(backend_test, a_turn_waits_about_as_long_as_asked) {
    std::vector<completion> out;
    // A ring that this thread closed just before may interrupt a wait, on a busy machine a later
    // one as well: the contract allows it.
    std::int64_t longest = 0;
    for (int i = 0; i < 10 && longest < 29'000'000; ++i) {
        const std::int64_t before = ops().now_ns();
        ops().turn(30'000'000, out);
        longest = std::max(longest, ops().now_ns() - before);
    }
    EXPECT_GE(longest, 29'000'000);
    // One that does not wait may lose the processor; one that waits does so every time.
    std::int64_t shortest = INT64_MAX;
    for (int i = 0; i < 20; ++i) {
        const std::int64_t middle = ops().now_ns();
        ops().turn(0, out);
        shortest = std::min(shortest, ops().now_ns() - middle);
    }
    EXPECT_LT(shortest, 20'000'000);
}

// A unix socket has news for whoever waits for room each time its peer takes a message: epoll woke
// twice for every call.
TEST_P(backend_test, a_peer_that_reads_wakes_nobody) {
    socket_pair pair(ops());
    recorder receiving;
    ops().receive(receiving, pair.ours);
    turns(1);
    iovec part{const_cast<char*>("z"), 1};
    std::int64_t longest = 0;
    for (int i = 0; i < 10 && longest < 29'000'000; ++i) {
        recorder sending;
        ops().send(sending, pair.ours, &part, 1);
        ASSERT_TRUE(until([&] { return sending.finished; }));
        char read = 0;
        ASSERT_EQ(::read(pair.theirs, &read, 1), 1);
        std::vector<completion> out;
        const std::int64_t before = ops().now_ns();
        ops().turn(30'000'000, out);
        longest = std::max(longest, ops().now_ns() - before);
        ASSERT_TRUE(out.empty());
    }
    EXPECT_GE(longest, 29'000'000);
    ops().cancel(receiving);
    EXPECT_TRUE(until([&] { return receiving.finished; }));
}

TEST_P(backend_test, more_ops_than_the_submission_queue_holds) {
    std::vector<std::unique_ptr<socket_pair>> pairs;
    std::vector<std::unique_ptr<recorder>> sends;
    iovec part{const_cast<char*>("z"), 1};
    for (int i = 0; i < 200; ++i) {
        pairs.push_back(std::make_unique<socket_pair>(ops()));
        sends.push_back(std::make_unique<recorder>());
        ops().send(*sends.back(), pairs.back()->ours, &part, 1);
    }
    ASSERT_TRUE(until([&] {
        return std::all_of(sends.begin(), sends.end(), [](const auto& s) { return s->finished; });
    }));
}

TEST_P(backend_test, destruction_with_ops_in_flight_leaves_none) {
    socket_pair pair(ops());
    recorder receiving;
    ops().receive(receiving, pair.ours);
    loop->run_one(0);
    pair.closer = nullptr;
    loop.reset();
    EXPECT_FALSE(receiving.in_flight);
    ::close(pair.ours);
}

INSTANTIATE_TEST_SUITE_P(kernels, backend_test, ::testing::ValuesIn(testing::every_backend),
                         [](const auto& which) { return std::string(which.param); });

TEST(backend_factory, automatic_gives_a_backend_and_explains_only_a_fallback) {
    std::string note;
    backend_options small;
    small.submission_entries = 64;
    small.completion_entries = 256;
    auto made = make_backend(backend_mode::automatic, note, small);
    ASSERT_TRUE(made);
    const bool uring = std::string((*made)->name()) == "uring";
    EXPECT_EQ(note.empty(), uring);
    EXPECT_EQ(note.find('\n'), std::string::npos);
    auto epoll = make_backend(backend_mode::epoll, note);
    ASSERT_TRUE(epoll);
    EXPECT_STREQ((*epoll)->name(), "epoll");
}

}  // namespace
}  // namespace pillion::io::testing
