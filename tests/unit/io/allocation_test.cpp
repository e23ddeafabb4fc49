// The steady state of a stream never calls the allocator. A program of its own, because it replaces
// operator new.
#include <malloc.h>
#include <atomic>
#include <cstdlib>
#include <new>

#include "backend_fixture.hpp"
#include "io/tcp_stream.hpp"
#include "sim/stream_harness.hpp"

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

namespace pillion::io::testing {
namespace {

using sim::chunk_of;

class stream_test : public backend_test {};

// Echoes without recording, so that it allocates nothing itself.
struct echo_reader final : stream_reader {
    reactor* loop = nullptr;
    stream* s = nullptr;
    std::size_t received = 0;
    bool closed = false;
    void on_data(char* data, std::size_t n) noexcept override {
        received += n;
        s->write(chunk_of(loop->chunks(), {data, n}));
        s->write_static("!");
    }
    void on_eof() noexcept override { s->close(true); }
    void on_drained() noexcept override {}
    void on_closed(int) noexcept override { closed = true; }
};

TEST_P(stream_test, steady_state_allocates_nothing) {
    socket_pair pair(ops());
    pair.closer = nullptr;  // the stream owns it
    tcp_stream stream(*loop, pair.ours, peer_name::of_text("test"));
    echo_reader echo;
    echo.loop = loop.get();
    echo.s = &stream;
    stream.start(echo);
    char buf[64];
    const auto round = [&](int times) {
        for (int i = 0; i < times; ++i) {
            const std::size_t before = echo.received;
            ASSERT_EQ(::write(pair.theirs, "ping", 4), 4);
            while (echo.received == before) {
                loop->run_one(1'000'000);
            }
            loop->run_one(0);
            ASSERT_EQ(::read(pair.theirs, buf, sizeof buf), 5);
        }
    };
    round(100);
    const std::size_t before = allocations.load();
    const auto heap = ::mallinfo2().uordblks;
    round(1000);
    EXPECT_EQ(allocations.load(), before);
    EXPECT_EQ(::mallinfo2().uordblks, heap);
    ::shutdown(pair.theirs, SHUT_WR);
    ASSERT_TRUE(until([&] { return echo.closed; }));
}

INSTANTIATE_TEST_SUITE_P(kernels, stream_test, ::testing::ValuesIn(testing::every_backend),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace
}  // namespace pillion::io::testing
