// The agent over the real kernel, on each backend, against servers that this file writes.
#include "client/agent.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "io/blocking_pool.hpp"
#include "unit/client/answers.hpp"
#include "unit/io/backend_fixture.hpp"

namespace pillion::client {
namespace {

using io::testing::backend_test;

// Takes one connection after the other, reads a head and writes what it was given; nothing when
// that is empty.
class server {
 public:
    explicit server(std::string answer) : answer_(std::move(answer)) {
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
    // Ends who is connected too: the loop of the test, which turns no more, may have kept its close
    // for its next turn. The server waited for that for ever once.
    ~server() {
        {
            const std::lock_guard hold(mutex_);
            ending_ = true;
            ::shutdown(fd_, SHUT_RDWR);
            ::shutdown(peer_, SHUT_RDWR);
        }
        thread_.join();
        ::close(fd_);
    }
    url at(const std::string& host) const {
        std::string fault;
        return *parse_url("http://" + host + ":" + std::to_string(port_) + "/keys?a=b", fault);
    }
    const std::string& seen() const { return seen_; }

 private:
    void run() {
        for (int peer; (peer = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
            {
                const std::lock_guard hold(mutex_);
                peer_ = peer;
                if (ending_) {
                    ::shutdown(peer, SHUT_RDWR);
                }
            }
            talk(peer);
            const std::lock_guard hold(mutex_);
            ::close(std::exchange(peer_, -1));
        }
    }
    void talk(int peer) {
        char some[4096];
        std::string got;
        while (got.find("\r\n\r\n") == got.npos) {
            const ssize_t n = ::read(peer, some, sizeof some);
            if (n <= 0) {
                return;
            }
            got.append(some, static_cast<std::size_t>(n));
        }
        seen_ = got;
        if (!answer_.empty()) {
            EXPECT_EQ(::write(peer, answer_.data(), answer_.size()),
                      static_cast<ssize_t>(answer_.size()));
        } else {
            while (::read(peer, some, sizeof some) > 0) {
            }
        }
    }

    std::string answer_;
    std::string seen_;
    int fd_;
    std::uint16_t port_ = 0;
    std::mutex mutex_;
    int peer_ = -1;  // who is talked to; guarded by mutex_, as ending_
    bool ending_ = false;
    std::thread thread_;
};

class agent_test : public backend_test {
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
    static question ask(url to, std::int64_t timeout_ms = 5000) {
        question made;
        made.to = std::move(to);
        made.timeout_ms = timeout_ms;
        return made;
    }
    answer answer_to(question what) {
        answer got;
        bool heard = false;
        of->ask(std::move(what), [&](answer said) {
            EXPECT_FALSE(heard);
            heard = true;
            got = std::move(said);
        });
        EXPECT_FALSE(heard);
        EXPECT_TRUE(until([&] { return heard; }));
        EXPECT_TRUE(until([&] { return of->idle(); }));
        return got;
    }

    io::blocking_pool helpers;
    std::unique_ptr<agent> of;
};

using testing::good;

TEST_P(agent_test, an_answer) {
    server to(good);
    // An address, and a name of which one address may have nobody.
    for (const auto* const host : {"127.0.0.1", "localhost"}) {
        const answer got = answer_to(ask(to.at(host)));
        EXPECT_EQ(got.fault, "");
        EXPECT_EQ(got.status, 200);
        EXPECT_EQ(got.body, "{}");
        EXPECT_TRUE(to.seen().starts_with("GET /keys?a=b HTTP/1.1\r\n")) << to.seen();
        EXPECT_NE(to.seen().find(std::string("Host: ") + host + ":"), std::string::npos);
        EXPECT_EQ(to.seen().find("Authorization"), std::string::npos);
    }
}

TEST_P(agent_test, a_post_with_a_secret) {
    server to(good);
    question what = ask(to.at("127.0.0.1"));
    what.post = true;
    what.authorization = "Basic eDp5";
    what.content_type = "application/x-www-form-urlencoded";
    what.body = "token=abc";
    EXPECT_EQ(answer_to(std::move(what)).status, 200);
    EXPECT_TRUE(to.seen().starts_with("POST /keys")) << to.seen();
    EXPECT_NE(to.seen().find("Content-Length: 9\r\n"), std::string::npos);
    EXPECT_NE(to.seen().find("Authorization: Basic eDp5\r\n"), std::string::npos);
    EXPECT_TRUE(to.seen().ends_with("\r\n\r\ntoken=abc")) << to.seen();
}

TEST_P(agent_test, faults_are_constant_words) {
    server silent("");
    server odd("ICY 200 OK\r\n\r\n");
    server half("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsecret");
    server large("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n");
    EXPECT_EQ(answer_to(ask(silent.at("127.0.0.1"), 50)).fault, "it took too long");
    EXPECT_EQ(answer_to(ask(odd.at("127.0.0.1"))).fault, "its answer is no HTTP");
    EXPECT_EQ(answer_to(ask(half.at("127.0.0.1"))).fault, "it closed the connection");
    EXPECT_EQ(answer_to(ask(large.at("127.0.0.1"))).fault, "its answer is too large");
    std::string fault;
    EXPECT_EQ(answer_to(ask(*parse_url("http://127.0.0.1:1/", fault))).fault,
              "it cannot be reached");
    EXPECT_EQ(answer_to(ask(*parse_url("http://no-such-host.invalid/", fault))).fault,
              "its host is not known");
    EXPECT_EQ(answer_to(ask(*parse_url("https://127.0.0.1:1/", fault))).fault,
              "no authorities are there to verify it with");
}

TEST_P(agent_test, nobody_hears_after_the_end) {
    server silent("");
    std::string fault;
    bool heard = false;
    for (const url& to : {silent.at("127.0.0.1"), silent.at("localhost"),
                          *parse_url("http://no-such-host.invalid/", fault)}) {
        of->ask(ask(to), [&](const answer&) { heard = true; });
    }
    for (int i = 0; i < 3; ++i) {
        loop->run_one(1'000'000);
    }
    of->close();
    EXPECT_TRUE(until([&] { return of->idle(); }));
    EXPECT_FALSE(heard);
}

TEST_P(agent_test, the_one_who_hears_may_ask_again_or_close) {
    server to(good);
    int heard = 0;
    of->ask(ask(to.at("127.0.0.1")), [&](const answer&) {
        ++heard;
        of->ask(ask(to.at("127.0.0.1")), [&](const answer&) {
            ++heard;
            of->close();
        });
    });
    EXPECT_TRUE(until([&] { return heard == 2 && of->idle(); }));
}

TEST_P(agent_test, too_many_at_a_time_are_refused) {
    server silent("");
    std::size_t refused = 0;
    for (std::size_t i = 0; i < agent::calls_max + 3; ++i) {
        of->ask(ask(silent.at("127.0.0.1")), [&](const answer& said) {
            EXPECT_EQ(said.fault, "too many requests are under way");
            ++refused;
        });
    }
    EXPECT_TRUE(until([&] { return refused == 3; }));
    of->close();
    EXPECT_TRUE(until([&] { return of->idle(); }));
}

INSTANTIATE_TEST_SUITE_P(backends, agent_test, ::testing::Values("uring", "epoll"));

}  // namespace
}  // namespace pillion::client
