// Whose a descriptor's number is, on every backend.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backend_fixture.hpp"
#include "io/socket.hpp"
#include "io/uring_files.hpp"

namespace pillion::io::testing {
namespace {

class backend_numbers_test : public backend_test {};

// io_uring: a number that the ring still knew would have sent to the socket that had it before.
TEST_P(backend_numbers_test, a_descriptor_number_that_is_used_again_is_another_socket) {
    constexpr int number = 200;
    for (const char* text : {"first", "second", "third"}) {
        socket_pair pair(ops());
        ASSERT_EQ(::fcntl(pair.ours, F_DUPFD_CLOEXEC, number), number);
        ::close(std::exchange(pair.ours, number));
        recorder receiving;
        ops().receive(receiving, number);
        ASSERT_GT(::write(pair.theirs, text, strlen(text)), 0);
        ASSERT_TRUE(until([&] { return receiving.bytes == text; }));
        recorder sending;
        const iovec parts{const_cast<char*>(text), strlen(text)};
        ops().send(sending, number, &parts, 1);
        ASSERT_TRUE(until([&] { return sending.finished; }));
        EXPECT_EQ(sending.last(), static_cast<std::int32_t>(strlen(text)));
        char read[16] = {};
        ASSERT_EQ(::read(pair.theirs, read, sizeof read), sending.last());
        EXPECT_STREQ(read, text);
        ops().cancel(receiving);
        ASSERT_TRUE(until([&] { return receiving.finished; }));
        // Nobody else holds the socket open once its number is closed.
        ops().close(std::exchange(pair.ours, -1));
        pair.closer = nullptr;
        turns(1);
        ::fcntl(pair.theirs, F_SETFL, O_NONBLOCK);
        EXPECT_EQ(::read(pair.theirs, read, sizeof read), 0) << text;
        EXPECT_EQ(::fcntl(number, F_GETFD), -1);
    }
}

TEST_P(backend_numbers_test, descriptors_beyond_those_that_a_ring_can_know_serve_too) {
    constexpr int number = static_cast<int>(uring_files::descriptors_max);
    raise_descriptor_limit();
    socket_pair pair(ops());
    if (::fcntl(pair.ours, F_DUPFD_CLOEXEC, number) != number) {
        GTEST_SKIP() << "no process may have so many descriptors here";
    }
    ::close(std::exchange(pair.ours, number));
    recorder receiving;
    ops().receive(receiving, number);
    recorder sending;
    const iovec parts{const_cast<char*>("out"), 3};
    ops().send(sending, number, &parts, 1);
    ASSERT_GT(::write(pair.theirs, "in", 2), 0);
    ASSERT_TRUE(until([&] { return sending.finished && receiving.bytes == "in"; }));
    EXPECT_EQ(sending.last(), 3);
    pair.hang_up();
    ASSERT_TRUE(until([&] { return receiving.finished; }));
}

INSTANTIATE_TEST_SUITE_P(kernels, backend_numbers_test, ::testing::ValuesIn(every_backend));

}  // namespace
}  // namespace pillion::io::testing
