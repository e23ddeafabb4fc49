// A connection that is warm asks without calling the allocator, and with one send. A program of its
// own, because it replaces operator new.
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <new>

#include "bench/load/connection.hpp"
#include "unit/io/backend_fixture.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
}

// Free belongs to the malloc above; g++ 12 does not see through the replacement.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

// Counts what goes through operator new in this test binary.
void* operator new(std::size_t bytes) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* p = std::malloc(bytes)) {
        return p;
    }
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace pillion::load {
namespace {

struct watcher final : connection_watcher {
    std::size_t free = 0;
    std::size_t good = 0;
    std::size_t bad = 0;
    void on_free(connection&) noexcept override { ++free; }
    void on_answer(std::int64_t, std::int64_t, const verdict& how,
                   std::string_view) noexcept override {
        ++(how.what == fault::none ? good : bad);
    }
    void on_unasked(const verdict&, std::string_view) noexcept override { ++bad; }
    void on_failed(const verdict&, std::string_view) noexcept override { ++bad; }
    void on_reconnect() noexcept override { ++bad; }
    void on_bytes(std::size_t, std::size_t) noexcept override {}
};

// A server in the same thread: answers by hand, between two turns of the loop.
struct hand_server {
    int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int peer = -1;
    sockaddr_in address{};

    hand_server() {
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), bytes), 0);
        EXPECT_EQ(::listen(listener, 1), 0);
        EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    }
    hand_server(const hand_server&) = delete;
    hand_server& operator=(const hand_server&) = delete;
    ~hand_server() {
        ::close(peer);
        ::close(listener);
    }
};

struct answer_form {
    const char* head;
    const char* before_id;
    const char* after_id;
};
constexpr answer_form forms[] = {
    {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 70\r\n\r\n",
     R"({"jsonrpc":"2.0","id":)", R"(,"result":{"supportedVersions":["x"]}})"},
    {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
     "4e\r\ndata: ",
     R"({"jsonrpc":"2.0","id":)", ",\"result\":{\"supportedVersions\":[\"x\"]}}\n\n\r\n0\r\n\r\n"},
};

class connection_test : public io::testing::backend_test {};

TEST_P(connection_test, steady_state_allocates_nothing_and_sends_once) {
    hand_server server;
    target to;
    to.path = "/mcp";
    to.host_field = "localhost";
    std::memcpy(&to.address, &server.address, sizeof server.address);
    to.address_bytes = sizeof server.address;
    const scenario what;
    watcher told;
    answer_check check(loop->chunks(), {});
    connection_plan plan;
    plan.loop = loop.get();
    plan.watcher = &told;
    plan.to = &to;
    plan.what = &what;
    plan.check = &check;
    plan.timeout_ns = 10'000'000'000;
    plan.answer_bytes_max = 1 << 20;
    plan.prepare();
    connection client(plan);
    client.open();
    while (told.free == 0) {
        loop->run_one(1'000'000);
    }
    server.peer = ::accept(server.listener, nullptr, nullptr);
    ASSERT_GE(server.peer, 0);

    char request[4096];
    char answer[1024];
    const auto round = [&](const answer_form& form, int times) {
        for (int i = 0; i < times; ++i) {
            const std::size_t before = told.free;
            client.ask(1);
            loop->run_one(0);
            // One piece: head and body left together.
            const ssize_t bytes = ::recv(server.peer, request, sizeof request, 0);
            ASSERT_GT(bytes, 0);
            const std::string_view text(request, static_cast<std::size_t>(bytes));
            ASSERT_TRUE(text.ends_with("}}"));
            const std::size_t id = text.find("\"id\":");
            const int size = std::snprintf(answer, sizeof answer, "%s%s%.10s%s", form.head,
                                           form.before_id, request + id + 5, form.after_id);
            ASSERT_EQ(::send(server.peer, answer, static_cast<std::size_t>(size), 0), size);
            while (told.free == before) {
                loop->run_one(1'000'000);
            }
        }
    };
    for (const answer_form& form : forms) {
        round(form, 50);
        const std::size_t allocated = allocations.load();
        const std::size_t from_heap = loop->chunks().bytes();
        round(form, 500);
        EXPECT_EQ(allocations.load(), allocated) << form.head;
        EXPECT_EQ(loop->chunks().bytes(), from_heap) << form.head;
    }
    EXPECT_EQ(told.good, std::size(forms) * 550);
    EXPECT_EQ(told.bad, 0U);
    client.leave();
    while (!client.is_gone()) {
        loop->run_one(1'000'000);
    }
    EXPECT_TRUE(loop->drain(1000));
}

INSTANTIATE_TEST_SUITE_P(backends, connection_test, ::testing::Values("uring", "epoll"));

}  // namespace
}  // namespace pillion::load
