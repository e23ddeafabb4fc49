// The promises of the hot path, kept by a whole shard on real sockets and both backends: once warm,
// a request allocates nothing on the heap, and the requests of many connections share their system
// calls. Counted at malloc, below operator new, and by the backend itself; nothing is timed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <pillion/server.hpp>

#include "app/server_state.hpp"
#include "app/shard.hpp"
#include "base/log.hpp"
#include "sim/sim_world.hpp"
#include "unit/counted_malloc.hpp"
#include "unit/mcp/messages.hpp"

namespace pillion::app::testing {
namespace {

constexpr std::size_t connections = 64;
constexpr std::size_t reply_bytes_max = 64 * 1024;

struct setting {
    const char* name;
    io::backend_mode io;
    bool unix_socket;
};

io::listen_spec where(bool unix_socket) {
    io::listen_spec spec;
    spec.host = "127.0.0.1";
    if (unix_socket) {
        spec.kind = io::listen_kind::unix_path;
        spec.path = "/tmp/pillion-hot-path-" + std::to_string(::getpid()) + ".sock";
    }
    return spec;
}

int connect_to(int listen_fd) {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    PILLION_ASSERT(::getsockname(listen_fd, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    const int fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    PILLION_ASSERT(fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
    return fd;
}

// Length of the reply that `got` begins with; 0 while it is not whole.
std::size_t reply_bytes(std::string_view got) {
    const std::size_t head = got.find("\r\n\r\n");
    constexpr std::string_view field = "Content-Length: ";
    const std::size_t at = got.find(field);
    if (head == got.npos || at == got.npos) {
        return 0;
    }
    const std::size_t body = std::strtoul(got.data() + at + field.size(), nullptr, 10);
    return head + 4 + body <= got.size() ? head + 4 + body : 0;
}

// A shard whose loop runs when it is told to, and its clients on the same thread. Talking to it
// needs no heap of the clients.
class stage {
 public:
    stage(const setting& how, bool& available)
        : host_("hot", "1"), set_(std::make_shared<settings>()) {
        log::set_level(log::level::warn);
        for (int i = 0; i < 50; ++i) {
            host_.tool("echo" + (i == 0 ? "" : std::to_string(i)))
                .about("Answers what it was given, as it was given.")
                .input(object().required("text", string()))
                .run([](context& ctx, json::view args) { return ctx.text(args["text"].str()); });
        }
        std::string fault;
        std::vector<std::string> warnings;
        service_ = std::make_unique<mcp::service>(
            mcp::registry::freeze(host_.state().defs, fault, warnings), host_, helpers_, 1,
            set_->service);
        set_->listen.push_back(where(how.unix_socket));
        set_->allowed_hosts.emplace_back("localhost:8080");  // what the requests below are for
        auto listeners = io::open_listeners(set_->listen[0], 1);
        PILLION_ASSERT(listeners.ok());
        listen_fd_ = listeners->front().fd();
        shard_ = std::make_unique<shard>(*service_, set_, 0, std::move(*listeners));
        std::string note;
        auto made = io::make_backend(how.io, note);
        available = made.ok();
        if (available) {
            shard_->open_on(std::move(*made));
            shard_->listen();
        }
    }
    ~stage() {
        for (const int fd : fds_) {
            ::close(fd);
        }
        if (opened_) {
            shard_->drain();
            shard_->run();
            shard_->close();
            EXPECT_TRUE(shard_->left().clean());
        }
    }

    void connect() {
        opened_ = true;
        for (int& fd : fds_) {
            fd = connect_to(listen_fd_);
        }
        turns(50);
    }
    void turns(int count) {
        for (int i = 0; i < count; ++i) {
            shard_->loop().run_one(1'000'000);
        }
    }
    void send(std::size_t client, std::string_view request) {
        ASSERT_EQ(::send(fds_[client], request.data(), request.size(), 0),
                  static_cast<ssize_t>(request.size()));
    }
    // Runs the loop until `client` has a whole reply; false when none comes.
    bool await(std::size_t client) {
        std::size_t got = 0;
        for (int i = 0; i < 1000; ++i) {
            const ssize_t n =
                ::recv(fds_[client], reply_ + got, sizeof(reply_) - got, MSG_DONTWAIT);
            got += n > 0 ? static_cast<std::size_t>(n) : 0;
            reply_size_ = reply_bytes({reply_, got});
            if (reply_size_ > 0) {
                return reply_size_ == got;
            }
            shard_->loop().run_one(1'000'000);
        }
        return false;
    }
    // Whether a whole reply is there already.
    bool has_reply(std::size_t client) const {
        char head[1024];
        return ::recv(fds_[client], head, sizeof head, MSG_DONTWAIT | MSG_PEEK) > 0;
    }
    std::string_view reply() const { return {reply_, reply_size_}; }
    std::uint64_t system_calls() const { return shard_->loop().ops().system_calls(); }

 private:
    server host_;
    std::shared_ptr<settings> set_;
    sim::inline_offload helpers_;
    std::unique_ptr<mcp::service> service_;
    std::unique_ptr<shard> shard_;
    int listen_fd_ = -1;
    bool opened_ = false;
    std::array<int, connections> fds_{};
    char reply_[reply_bytes_max];
    std::size_t reply_size_ = 0;
};

std::string call(std::string_view text) {
    return mcp::testing::modern_call("1", "echo", R"({"text":")" + std::string(text) + R"("})");
}

std::string session_call(stage& s) {
    s.send(0, mcp::testing::http_request("POST", {}, mcp::testing::initialize_body("2025-11-25")));
    EXPECT_TRUE(s.await(0));
    const std::string_view reply = s.reply();
    constexpr std::string_view field = "Mcp-Session-Id: ";
    const std::size_t at = reply.find(field) + field.size();
    const std::string id(reply.substr(at, reply.find('\r', at) - at));
    return mcp::testing::legacy_call(id, "1", "echo", R"({"text":"hello"})");
}

class hot_path : public ::testing::TestWithParam<setting> {
 protected:
    void SetUp() override {
        bool available = false;
        on = std::make_unique<stage>(GetParam(), available);
        if (!available) {
            GTEST_SKIP() << "this system denies io_uring";
        }
        on->connect();
    }

    // Many of one request, one at a time, without an allocation.
    void without_heap(const std::string& request, std::string_view answer) {
        constexpr int warm = 200;
        constexpr int counted = 2000;
        std::size_t before = 0;
        for (int i = 0; i < warm + counted; ++i) {
            before = i == warm ? mallocs : before;
            on->send(static_cast<std::size_t>(i) % connections, request);
            ASSERT_TRUE(on->await(static_cast<std::size_t>(i) % connections)) << i;
        }
        EXPECT_EQ(mallocs - before, 0U);
        EXPECT_NE(on->reply().find(answer), std::string_view::npos) << on->reply();
    }

    // One request on each connection while the loop stands; how many system calls answer them all.
    std::uint64_t calls_for_all(const std::string& request) {
        for (std::size_t i = 0; i < connections; ++i) {
            on->send(i, request);
        }
        const std::uint64_t before = on->system_calls();
        std::size_t answered = 0;
        for (int turn = 0; turn < 100 && answered < connections; ++turn) {
            on->turns(1);
            while (answered < connections && on->has_reply(answered)) {
                ++answered;
            }
        }
        const std::uint64_t calls = on->system_calls() - before;
        EXPECT_EQ(answered, connections);
        for (std::size_t i = 0; i < connections; ++i) {
            EXPECT_TRUE(on->await(i));
            EXPECT_NE(on->reply().find("HTTP/1.1 200"), std::string_view::npos);
        }
        return calls;
    }

    std::unique_ptr<stage> on;
};

TEST_P(hot_path, counter_counts) {
    const std::size_t before = mallocs;
    void* volatile block = std::malloc(100);
    std::free(block);
    EXPECT_GT(mallocs, before);
}

TEST_P(hot_path, calls_use_no_heap_in_either_era) {
    without_heap(call("hello"), R"("text":"hello")");
    without_heap(session_call(*on), R"("text":"hello")");
}

TEST_P(hot_path, large_calls_use_no_heap) {
    const std::string text(32 * 1024, 'x');
    without_heap(call(text), text);
}

TEST_P(hot_path, lists_and_discovery_use_no_heap) {
    using mcp::testing::modern_body;
    using mcp::testing::modern_post;
    without_heap(modern_post("tools/list", "", modern_body("1", "tools/list", "")),
                 R"("name":"echo49")");
    without_heap(modern_post("server/discover", "", modern_body("1", "server/discover", "")),
                 R"("supportedVersions")");
}

TEST_P(hot_path, many_connections_share_their_system_calls) {
    const std::string request = call("hello");
    for (int warm = 0; warm < 3; ++warm) {
        calls_for_all(request);
    }
    const std::uint64_t calls = calls_for_all(request);
    // Besides epoll's, which receives and sends for each connection by itself.
    const std::uint64_t each = GetParam().io == io::backend_mode::epoll ? 2 * connections : 0;
    EXPECT_GE(calls, each + 2);
    EXPECT_LE(calls, each + 6);
}

INSTANTIATE_TEST_SUITE_P(backends, hot_path,
                         ::testing::Values(setting{"uring", io::backend_mode::uring, false},
                                           setting{"epoll", io::backend_mode::epoll, false},
                                           setting{"uring_unix", io::backend_mode::uring, true},
                                           setting{"epoll_unix", io::backend_mode::epoll, true}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace pillion::app::testing
