// What a call costs outside the kernel: a whole shard answers requests over a backend that has them
// ready, twenty a turn as io_uring brings them, and takes the answers away. Of the time of a call
// under load this is the part that is ours. Its median moves with the host by 10 %; the quickest
// tenth of the runs of two programs, taken in turns, repeats to 2 %. Builds of one source differ by
// up to 7, since each has a profile of its own. No case of another library stands beside it.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <pillion/server.hpp>

#include "app/server_state.hpp"
#include "app/settings.hpp"
#include "app/shard.hpp"
#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "io/backend.hpp"
#include "io/blocking_pool.hpp"
#include "mcp/service.hpp"

namespace {

using namespace pillion;

constexpr std::size_t connections = 64;
constexpr std::size_t a_turn = 20;

// Connections that always have a next request once the last one was answered.
class ready_backend final : public io::backend {
 public:
    explicit ready_backend(std::string request) : request_(std::move(request)) {
        for (peer& one : peers_) {
            int ends[2];
            PILLION_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
            ::close(ends[1]);
            one.fd = ends[0];
            const auto number = static_cast<std::size_t>(one.fd);
            by_number_.resize(std::max(by_number_.size(), number + 1));
            by_number_[number] = &one;
        }
        for (auto& one : buffers_) {
            one.resize(request_.size() + limits::padding);
        }
    }

    const char* name() const noexcept override { return "ready"; }
    std::int64_t now_ns() const noexcept override { return base::monotonic_now_ns(); }
    std::int64_t unix_ms() const noexcept override { return base::unix_now_ms(); }
    void accept(io::op& target, int) noexcept override { begin(target, acceptor_); }
    void receive(io::op& target, int fd) noexcept override { begin(target, at(fd).receives); }
    // Refusals would be quicker.
    void send(io::transfer_op& target, int fd, const iovec* parts,
              std::size_t count) noexcept override {
        target.size = 0;
        for (std::size_t i = 0; i < count; ++i) {
            target.size += parts[i].iov_len;
        }
        PILLION_ASSERT(std::memcmp(parts[0].iov_base, "HTTP/1.1 200", 12) == 0);
        target.in_flight = true;
        at(fd).sends = &target;
    }
    void turn(std::int64_t, std::vector<io::completion>& out) noexcept override {
        for (; accepted_ < connections; ++accepted_) {
            out.push_back({.target = acceptor_, .res = peers_[accepted_].fd, .more = true});
        }
        for (std::size_t i = 0; i < a_turn; ++i) {
            peer& one = peers_[next_++ % connections];
            if (one.sends != nullptr) {
                out.push_back({.target = one.sends, .res = static_cast<int>(one.sends->size)});
                one.sends = nullptr;
            }
            if (one.receives != nullptr) {
                // Servers parse where it lies, and may write there.
                std::memcpy(buffers_[i].data(), request_.data(), request_.size());
                out.push_back({.target = one.receives,
                               .res = static_cast<int>(request_.size()),
                               .more = true,
                               .data = buffers_[i].data()});
            }
        }
    }
    void await_hangup(io::op& target, int) noexcept override { target.in_flight = true; }
    void read(io::transfer_op& target, int, char*, std::size_t) noexcept override {
        target.in_flight = true;
    }
    void write(io::transfer_op&, int, const char*, std::size_t) noexcept override {}
    void connect(io::transfer_op&, int, const void*, std::size_t) noexcept override {}
    void cancel(io::op&) noexcept override {}
    void shutdown(int, int) noexcept override {}
    std::size_t unread_bytes(int) noexcept override { return 0; }
    void close(int) noexcept override {}
    void give_back(std::uint32_t) noexcept override {}
    void wake() noexcept override {}
    std::size_t in_flight() const noexcept override { return 0; }
    std::size_t buffers_lent() const noexcept override { return 0; }

 private:
    struct peer {
        int fd = -1;
        io::op* receives = nullptr;
        io::transfer_op* sends = nullptr;
    };

    static void begin(io::op& target, io::op*& place) noexcept {
        target.in_flight = true;
        place = &target;
    }
    peer& at(int fd) noexcept { return *by_number_[static_cast<std::size_t>(fd)]; }

    const std::string request_;
    std::array<peer, connections> peers_;
    std::vector<peer*> by_number_;
    std::array<std::string, a_turn> buffers_;
    io::op* acceptor_ = nullptr;
    std::size_t accepted_ = 0;
    std::size_t next_ = 0;
};

std::string post(std::string_view method, std::string_view name, std::string_view params) {
    const std::string body =
        R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + R"(","params":{)" +
        std::string(params) +
        R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
        R"("io.modelcontextprotocol/clientInfo":{"name":"call-bench","version":"1"},)"
        R"("io.modelcontextprotocol/clientCapabilities":{}}}})";
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
           "Mcp-Method: " +
           std::string(method) + "\r\n" + std::string(name) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string call() {
    return post("tools/call", "Mcp-Name: echo\r\n",
                R"("name":"echo","arguments":{"text":")" + std::string(100, 'x') + R"("},)");
}

// A server that is there to the end of the process, as its connections are.
struct stage {
    explicit stage(std::string request) : host("bench", "1") {
        for (int i = 0; i < 50; ++i) {
            host.tool(i == 0 ? "echo" : "echo" + std::to_string(i))
                .about("Answers what it was given, as it was given.")
                .input(object().required("text", string()))
                .run([](context& ctx, json::view args) { return ctx.text(args["text"].str()); });
        }
        std::string fault;
        std::vector<std::string> warnings;
        shared = std::make_unique<mcp::service>(
            mcp::registry::freeze(host.state().defs, fault, warnings), host, blocking, 1,
            set->service);
        io::listen_spec spec;
        spec.kind = io::listen_kind::unix_path;
        spec.path = "/tmp/pillion-call-bench-" + std::to_string(::getpid());
        set->listen.push_back(spec);
        set->allowed_hosts.emplace_back("localhost");
        auto listeners = io::open_listeners(spec, 1);
        PILLION_ASSERT(listeners.ok());
        serves = std::make_unique<app::shard>(*shared, set, 0, std::move(*listeners));
        ::unlink(spec.path.c_str());
        serves->open_on(std::make_unique<ready_backend>(std::move(request)));
        serves->listen();
    }

    server host;
    std::shared_ptr<app::settings> set = std::make_shared<app::settings>();
    io::blocking_pool blocking;
    std::unique_ptr<mcp::service> shared;
    std::unique_ptr<app::shard> serves;
};

void twenty(benchmark::State& state, std::string request, log::level lowest) {
    static const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    static std::once_flag once;
    std::call_once(once, [] {
        log::set_descriptor(nowhere);
        log::start_writer();
        log::collect(true);
    });
    log::set_level(lowest);
    auto& loop = (new stage(std::move(request)))->serves->loop();
    for (int warm = 0; warm < 1000; ++warm) {
        loop.run_one(0);
    }
    for (auto _ : state) {
        loop.run_one(0);
    }
}
BENCHMARK_CAPTURE(twenty, calls, call(), log::level::info)->Name("20 calls/logged/pillion");
BENCHMARK_CAPTURE(twenty, quiet_calls, call(), log::level::warn)
    ->Name("20 calls/not logged/pillion");
BENCHMARK_CAPTURE(twenty, lists, post("tools/list", "", ""), log::level::info)
    ->Name("20 tools/list of 50/pillion");

}  // namespace

BENCHMARK_MAIN();
