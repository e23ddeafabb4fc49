// upstream: two requests beside each other, in every order of what may become of them.
#include "sidecar/upstream.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "coro/scope.hpp"
#include "unit/io/backend_fixture.hpp"

namespace pillion::sidecar {
namespace {

using io::testing::backend_test;

enum class fate { good, refused, busy, lost, late };
constexpr fate fates[] = {fate::good, fate::refused, fate::busy, fate::lost, fate::late};

std::string answer_of(int which, fate what) {
    const std::string body = std::to_string(which);
    const std::string status = what == fate::good   ? "200 OK"
                               : what == fate::busy ? "503 X"
                                                    : "429 X";
    return "HTTP/1.1 " + status + "\r\nContent-Length: 1\r\n\r\n" + body;
}

// A port whose connections the test holds and answers when it likes.
class held_server {
 public:
    held_server() {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof at;
        EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), bytes), 0);
        EXPECT_EQ(::listen(fd_, 16), 0);
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &bytes);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port)) + "/";
    }
    held_server(const held_server&) = delete;
    held_server& operator=(const held_server&) = delete;
    ~held_server() {
        for (const int one : peers_) {
            ::close(one);
        }
        ::close(fd_);
    }
    const std::string& url() const { return url_; }
    // How many requests there have been.
    std::size_t asked() {
        const int peer = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (peer >= 0) {
            peers_.push_back(peer);
        }
        return peers_.size();
    }
    void answer(std::size_t which, fate what) {
        if (what == fate::lost) {
            ::shutdown(peers_[which], SHUT_RDWR);
        } else if (what != fate::late) {
            const std::string text = answer_of(static_cast<int>(which), what);
            EXPECT_EQ(::write(peers_[which], text.data(), text.size()),
                      static_cast<ssize_t>(text.size()));
        }
    }
    // Whether the other side has closed it.
    bool closed(std::size_t which) {
        char some[4096];
        ssize_t got = 0;
        while ((got = ::read(peers_[which], some, sizeof some)) > 0) {
        }
        return got == 0 || errno != EAGAIN;
    }

 private:
    int fd_;
    std::string url_;
    std::vector<int> peers_;
};

class again final : public second_request {
 public:
    again(const upstream& to, bool may) : to_(to), may_(may) {}
    std::optional<client::question> make() override {
        ++asked;
        std::optional<client::question> made;
        if (may_) {
            made.emplace();
            made->to = to_.where;
        }
        return made;
    }
    int asked = 0;

 private:
    const upstream& to_;
    bool may_;
};

task<void> ask(upstream_parts& parts, std::shared_ptr<upstream> to, again& second,
               coro::stop_node& stop, std::optional<client::answer>& out) {
    client::question first;
    first.to = to->where;
    const breaker::permit by = to->state.ask(true, parts.now_ms());
    client::answer got = co_await parts.fetch_hedged(to, std::move(first), by, second, stop);
    out.emplace(std::move(got));
}

class upstream_test : public backend_test {
 protected:
    std::shared_ptr<upstream> made(std::size_t failures_max, std::size_t connections = 2) {
        auto spec = std::make_shared<upstream_spec>();
        spec->url = server->url();
        spec->failures_max = failures_max;
        spec->connections = connections;
        spec->open_ms = 3'600'000;
        spec->hedge_ms = 1;
        std::string fault;
        return upstream_of(spec, fault);
    }
    void end(upstream_parts& parts) {
        parts.close();
        EXPECT_TRUE(until([&] { return parts.idle(); }));
    }

    std::optional<held_server> server;
    io::blocking_pool helpers;
};

// What must come of two requests, of which `order[0]` has its fate first. -1: nothing yet.
int winner_of(const std::array<fate, 2>& fates_of, const std::array<int, 2>& order) {
    for (const int one : order) {
        if (fates_of[static_cast<std::size_t>(one)] == fate::good) {
            return one;
        }
    }
    const bool all = fates_of[0] != fate::late && fates_of[1] != fate::late;
    return !all ? -1 : fates_of[0] != fate::lost ? 0 : 1;
}

TEST_P(upstream_test, every_pair_of_fates_in_both_orders) {
    for (const fate first : fates) {
        for (const fate second : fates) {
            for (const std::array<int, 2> order : {std::array{0, 1}, std::array{1, 0}}) {
                SCOPED_TRACE(std::to_string(static_cast<int>(first)) + " " +
                             std::to_string(static_cast<int>(second)) + " " +
                             std::to_string(order[0]));
                const std::array<fate, 2> both = {first, second};
                server.emplace();
                const auto to = made(2);
                upstream_parts parts(*loop, helpers);
                again once_more(*to, true);
                coro::stop_node stop;
                coro::scope running;
                std::optional<client::answer> got;
                running.spawn(ask(parts, to, once_more, stop, got));
                ASSERT_TRUE(until([&] { return server->asked() == 2; }));
                for (const int one : order) {
                    if (!got) {
                        server->answer(static_cast<std::size_t>(one),
                                       both[static_cast<std::size_t>(one)]);
                    }
                    turns(3);
                }
                const int winner = winner_of(both, order);
                if (winner < 0) {
                    EXPECT_FALSE(got.has_value());
                    stop.request(coro::stop_reason::deadline);
                }
                ASSERT_TRUE(until([&] { return got.has_value() && running.running() == 0; }));
                const bool lost =
                    winner >= 0 && both[static_cast<std::size_t>(winner)] == fate::lost;
                if (winner < 0) {
                    EXPECT_EQ(got->fault, upstream_parts::stopped);
                } else if (lost) {
                    EXPECT_EQ(got->fault, client::agent::lost);
                } else {
                    EXPECT_EQ(got->body, std::to_string(winner));
                }
                EXPECT_EQ(once_more.asked, 1);
                // Trouble counts, being overtaken does not.
                const auto bad = [](fate f) { return f == fate::busy || f == fate::lost; };
                EXPECT_EQ(to->state.closed_for_ms(parts.now_ms()) > 0, bad(first) && bad(second));
                end(parts);
                EXPECT_TRUE(until([&] { return server->closed(0) && server->closed(1); }));
            }
        }
    }
}

TEST_P(upstream_test, a_second_one_that_may_not_go) {
    for (const int why : {0, 1, 2}) {
        SCOPED_TRACE(why);
        server.emplace();
        // It cannot be made, there is no place, or the breaker has opened meanwhile.
        const auto to = made(1, why == 1 ? 1 : 2);
        upstream_parts parts(*loop, helpers);
        again once_more(*to, why != 0);
        coro::stop_node stop;
        coro::scope running;
        std::optional<client::answer> got;
        running.spawn(ask(parts, to, once_more, stop, got));
        if (why == 2) {
            to->state.tell(to->state.ask(true, 0), breaker::outcome::bad, parts.now_ms());
        }
        ASSERT_TRUE(until([&] { return server->asked() == 1; }));
        const std::int64_t then = loop->ops().now_ns() + 20'000'000;
        ASSERT_TRUE(until([&] { return loop->ops().now_ns() > then; }));
        EXPECT_EQ(server->asked(), 1U);
        server->answer(0, fate::good);
        ASSERT_TRUE(until([&] { return got.has_value() && running.running() == 0; }));
        EXPECT_EQ(got->body, "0");
        EXPECT_EQ(once_more.asked, why == 0 ? 1 : 0);
        end(parts);
    }
}

TEST_P(upstream_test, a_stop_at_any_moment_leaves_nothing) {
    for (int moment = 0; moment < 4; ++moment) {
        SCOPED_TRACE(moment);
        server.emplace();
        const auto to = made(1);
        upstream_parts parts(*loop, helpers);
        again once_more(*to, true);
        coro::stop_node stop;
        coro::scope running;
        std::optional<client::answer> got;
        if (moment == 0) {
            stop.request(coro::stop_reason::deadline);
        }
        running.spawn(ask(parts, to, once_more, stop, got));
        const std::size_t wanted = moment < 2 ? 0 : moment == 2 ? 1 : 2;
        ASSERT_TRUE(until([&] { return server->asked() >= wanted; }));
        stop.request(coro::stop_reason::client_cancelled);
        ASSERT_TRUE(until([&] { return got.has_value() && running.running() == 0; }));
        EXPECT_EQ(got->fault, upstream_parts::stopped);
        // Whoever was stopped says nothing about the service.
        EXPECT_EQ(to->state.closed_for_ms(parts.now_ms()), 0);
        EXPECT_TRUE(until([&] { return parts.idle(); }));
        end(parts);
    }
}

INSTANTIATE_TEST_SUITE_P(backends, upstream_test, ::testing::Values("uring", "epoll"));

}  // namespace
}  // namespace pillion::sidecar
