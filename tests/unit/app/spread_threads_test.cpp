// Two shards on threads of their own, one address, and connections that move between them: what is
// under way meets the end of the server, and nobody who was connected is left without an answer.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <pillion/server.hpp>

#include "app/server_state.hpp"
#include "app/shard.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"
#include "sim/sim_world.hpp"

namespace pillion::app::testing {
namespace {

constexpr std::size_t shards = 2;

class two_shards {
 public:
    two_shards()
        : host_("threads", "1"),
          set_(std::make_shared<settings>()),
          among_{std::make_shared<spread>(shards)} {
        log::set_level(log::level::warn);
        set_->io = io::backend_mode::epoll;
        set_->listen.emplace_back();
        set_->listen[0].host = "127.0.0.1";
        std::string fault;
        std::vector<std::string> warnings;
        service_ = std::make_unique<mcp::service>(
            mcp::registry::freeze(host_.state().defs, fault, warnings), host_, helpers_, shards,
            set_->service);
        auto sockets = io::open_listeners(set_->listen[0], shards);
        PILLION_ASSERT(sockets.ok());
        port_ = io::local_port(sockets->front().fd());
        for (std::size_t i = 0; i < shards; ++i) {
            std::vector<io::listen_socket> own;
            own.push_back(std::move((*sockets)[i]));
            shards_.push_back(std::make_unique<shard>(*service_, set_, i, std::move(own), among_));
        }
        for (const auto& s : shards_) {
            threads_.emplace_back([this, one = s.get()] {
                std::string note;
                std::string why;
                PILLION_ASSERT(one->open(note, why));
                one->listen();
                ready_.count_down();
                one->run();
                ended_.arrive_and_wait();  // nobody posts to a loop that has gone
                one->close();
            });
        }
        ready_.wait();
    }
    void end() {
        for (const auto& s : shards_) {
            s->loop().post([one = s.get()] { one->drain(); });
        }
        for (std::thread& t : threads_) {
            t.join();
        }
        for (const auto& s : shards_) {
            EXPECT_TRUE(s->left().clean());
            EXPECT_TRUE(s->ended_in_time());
        }
    }
    int connect() const {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port_);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
            return fd;
        }
        ::close(fd);
        return -1;
    }
    // Whether a request on `fd` is answered.
    bool answers(int fd) const {
        const std::string request =
            "GET /health HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n\r\n";
        char reply[1024];
        return ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
                   static_cast<ssize_t>(request.size()) &&
               ::recv(fd, reply, sizeof reply, 0) > 12 &&
               std::string_view(reply, 12) == "HTTP/1.1 200";
    }
    std::size_t held(std::size_t shard) const { return among_[0]->held(shard).load(); }

 private:
    server host_;
    std::shared_ptr<settings> set_;
    std::vector<std::shared_ptr<spread>> among_;
    sim::inline_offload helpers_;
    std::unique_ptr<mcp::service> service_;
    std::uint16_t port_ = 0;
    std::vector<std::unique_ptr<shard>> shards_;
    std::vector<std::thread> threads_;
    std::latch ready_{shards};
    std::latch ended_{shards};
};

TEST(spread_threads, connections_end_up_evenly_and_are_all_served) {
    two_shards on;
    std::vector<int> fds;
    for (int i = 0; i < 64; ++i) {
        fds.push_back(on.connect());
        ASSERT_GE(fds.back(), 0);
    }
    for (int round = 0; round < 2; ++round) {
        for (const int fd : fds) {
            EXPECT_TRUE(on.answers(fd));
        }
    }
    EXPECT_EQ(on.held(0) + on.held(1), 64U);
    EXPECT_GE(on.held(0), 26U);
    EXPECT_LE(on.held(0), 38U);
    for (const int fd : fds) {
        ::close(fd);
    }
    on.end();
}

TEST(spread_threads, who_connects_while_the_server_ends_is_answered_or_refused) {
    two_shards on;
    std::atomic<int> answered{0};
    std::thread crowd([&] {
        for (int i = 0; i < 2000; ++i) {
            const int fd = on.connect();
            if (fd < 0) {
                return;  // nobody listens any more
            }
            answered += on.answers(fd) ? 1 : 0;
            ::close(fd);
        }
    });
    while (answered < 50) {
        std::this_thread::yield();
    }
    on.end();
    crowd.join();
    EXPECT_GE(answered, 50);
}

}  // namespace
}  // namespace pillion::app::testing
