// Connections of the agent that serve more than one request, over the real kernel, on each backend.
#include "client/connection.hpp"

#include <poll.h>
#include <atomic>
#include <thread>
#include <vector>

#include "io/blocking_pool.hpp"
#include "unit/client/answers.hpp"
#include "unit/io/backend_fixture.hpp"

namespace pillion::client {
namespace {

using io::testing::backend_test;

using testing::good;

// Answers requests without a body, several on a connection, and counts both. One connection at a
// time, which is how a test knows that there was no second.
class keeper {
 public:
    // After `most` answers a connection is closed without a word.
    explicit keeper(std::string answer, int most = 100) : answer_(std::move(answer)), most_(most) {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof at;
        EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), bytes), 0);
        EXPECT_EQ(::listen(fd_, 16), 0);
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &bytes);
        port_ = ntohs(at.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    ~keeper() {
        over_ = true;
        ::shutdown(fd_, SHUT_RDWR);
        thread_.join();
        ::close(fd_);
    }
    question to(const char* method, std::int64_t timeout_ms = 5000) const {
        question made;
        std::string fault;
        made.to = *parse_url("http://127.0.0.1:" + std::to_string(port_) + "/", fault);
        made.method = method;
        made.timeout_ms = timeout_ms;
        return made;
    }
    int connections() const { return connections_; }
    int requests() const { return requests_; }

 private:
    void run() {
        for (;;) {
            const int peer = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
            if (peer < 0) {
                return;
            }
            ++connections_;
            serve(peer);
            ::close(peer);
        }
    }
    void serve(int peer) {
        std::string got;
        char some[4096];
        for (int answered = 0; answered < most_ && !over_;) {
            pollfd ready{peer, POLLIN, 0};
            if (::poll(&ready, 1, 20) == 0) {
                continue;
            }
            const ssize_t n = ::read(peer, some, sizeof some);
            if (n <= 0) {
                return;
            }
            got.append(some, static_cast<std::size_t>(n));
            if (got.ends_with("\r\n\r\n")) {
                got.clear();
                ++requests_;
                ++answered;
                EXPECT_EQ(::write(peer, answer_.data(), answer_.size()),
                          static_cast<ssize_t>(answer_.size()));
            }
        }
    }

    const std::string answer_;
    const int most_;
    int fd_;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_ = 0;
    std::atomic<int> requests_ = 0;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

class connection_test : public backend_test {
 protected:
    void SetUp() override {
        backend_test::SetUp();
        if (loop != nullptr) {
            of = std::make_unique<agent>(*loop, helpers);
        }
    }
    void TearDown() override {
        if (of != nullptr) {
            of->close();
            EXPECT_TRUE(until([&] { return of->idle(); }));
            of.reset();
        }
        backend_test::TearDown();
    }
    answer answer_to(question what) {
        answer got;
        bool heard = false;
        of->ask(std::move(what), [&](answer said) {
            heard = true;
            got = std::move(said);
        });
        EXPECT_TRUE(until([&] { return heard; }));
        return got;
    }
    void turn_for_ms(int ms) {
        const std::int64_t end = loop->clock_ns() + ms * 1'000'000LL;
        EXPECT_TRUE(until([&] { return loop->clock_ns() >= end; }));
    }

    io::blocking_pool helpers;
    std::unique_ptr<agent> of;
};

TEST_P(connection_test, serves_one_request_after_the_other) {
    keeper at(good);
    EXPECT_EQ(answer_to(at.to("GET")).status, 200);
    for (int i = 1; i < 20; ++i) {
        EXPECT_EQ(answer_to(at.to(i % 2 == 0 ? "POST" : "GET")).status, 200);
    }
    EXPECT_EQ(at.connections(), 1);
    EXPECT_EQ(at.requests(), 20);
}

// What it says may be repeated is, over another one; nobody notices.
TEST_P(connection_test, one_that_the_server_has_closed_is_not_used) {
    keeper at(good, 1);
    for (int i = 1; i <= 5; ++i) {
        EXPECT_EQ(answer_to(at.to("GET")).body, "{}");
        EXPECT_EQ(at.requests(), i);
    }
    EXPECT_EQ(at.connections(), 5);
}

TEST_P(connection_test, is_not_kept_where_the_server_says_so) {
    for (const char* const field :
         {"Connection: close", "Keep-Alive: timeout=1", "keep-alive: max=5, timeout=0"}) {
        keeper at("HTTP/1.1 200 OK\r\n" + std::string(field) + "\r\nContent-Length: 2\r\n\r\n{}");
        EXPECT_EQ(answer_to(at.to("GET")).status, 200);
        EXPECT_TRUE(until([&] { return of->idle(); })) << field;
    }
    keeper old("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    EXPECT_EQ(answer_to(old.to("GET")).status, 200);
    EXPECT_TRUE(until([&] { return of->idle(); }));
}

// An answer that nobody asked for would else be taken for that of the next request.
TEST_P(connection_test, more_than_an_answer_ends_it) {
    keeper at(good + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged");
    EXPECT_EQ(answer_to(at.to("GET")).fault, "its answer is no HTTP");
    EXPECT_TRUE(until([&] { return of->idle(); }));
}

// A request that must not happen twice does not go over one that has rested for long, nor over one
// that its server may be about to close.
TEST_P(connection_test, a_post_takes_only_a_good_one) {
    keeper closes(good, 1);
    for (int i = 1; i <= 5; ++i) {
        EXPECT_EQ(answer_to(closes.to("POST")).status, 200);
    }
    EXPECT_EQ(closes.connections(), 5);
    keeper keeps(good);
    EXPECT_EQ(answer_to(keeps.to("POST")).status, 200);
    turn_for_ms(60);
    EXPECT_EQ(answer_to(keeps.to("POST")).status, 200);
    EXPECT_EQ(answer_to(keeps.to("POST")).status, 200);
    EXPECT_EQ(keeps.connections(), 1);
    turn_for_ms(1100);
    // The other one waits until this one has gone: one connection at a time.
    question late = keeps.to("POST", 50);
    EXPECT_EQ(answer_to(std::move(late)).fault, "it took too long");
    EXPECT_EQ(keeps.requests(), 3);
}

TEST_P(connection_test, leads_to_one_place_only) {
    keeper a(good);
    keeper b(good);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(answer_to(a.to("GET")).status, 200);
        EXPECT_EQ(answer_to(b.to("GET")).status, 200);
    }
    EXPECT_EQ(a.connections(), 1);
    EXPECT_EQ(a.requests(), 3);
    EXPECT_EQ(b.connections(), 1);
}

TEST_P(connection_test, a_call_that_is_given_up_takes_it_along) {
    keeper at(good);
    EXPECT_EQ(answer_to(at.to("GET")).status, 200);
    const std::uint64_t number = of->ask(at.to("GET"), [](const answer&) { FAIL(); });
    of->cancel(number);
    EXPECT_TRUE(until([&] { return of->idle(); }));
}

// ---- answers read as they come ----

struct collector final : answer_sink {
    answer head;
    std::vector<std::string> pieces;
    std::function<void()> at_piece;
    void on_head(const answer& what) override {
        head.status = what.status, head.field = what.field;
    }
    void on_piece(std::string_view text) override {
        pieces.emplace_back(text);
        if (at_piece) {
            at_piece();
        }
    }
};

TEST_P(connection_test, a_sink_hears_head_and_body) {
    keeper at(
        "HTTP/1.1 200 OK\r\nX-Who: ada\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
    for (int i = 0; i < 2; ++i) {
        collector sink;
        question what = at.to("GET");
        what.sink = &sink;
        what.field = "x-who";
        what.answer_bytes_max = 1;  // is not for it
        const answer end = answer_to(std::move(what));
        EXPECT_EQ(end.fault, "");
        EXPECT_EQ(end.body, "");
        EXPECT_EQ(sink.head.status, 200);
        EXPECT_EQ(sink.head.field, "ada");
        std::string all;
        for (const std::string& piece : sink.pieces) {
            all += piece;
        }
        EXPECT_EQ(all, "onetwo");
    }
    EXPECT_EQ(at.connections(), 1);
}

TEST_P(connection_test, a_sink_may_end_its_call) {
    keeper at("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome");
    collector sink;
    question what = at.to("GET");
    what.sink = &sink;
    const std::uint64_t number = of->ask(std::move(what), [](const answer&) { FAIL(); });
    sink.at_piece = [&] { of->cancel(number); };
    EXPECT_TRUE(until([&] { return !sink.pieces.empty() && of->idle(); }));
    EXPECT_EQ(sink.pieces, std::vector<std::string>{"some"});
}

// The time is for the head: a stream may last.
TEST_P(connection_test, a_stream_has_no_end_of_time) {
    keeper at("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome");
    collector sink;
    question what = at.to("GET", 100);
    what.sink = &sink;
    bool heard = false;
    const std::uint64_t number = of->ask(std::move(what), [&](const answer&) { heard = true; });
    turn_for_ms(200);
    EXPECT_FALSE(heard);
    EXPECT_FALSE(sink.pieces.empty());
    of->cancel(number);
}

INSTANTIATE_TEST_SUITE_P(backends, connection_test, ::testing::Values("uring", "epoll"));

}  // namespace
}  // namespace pillion::client
