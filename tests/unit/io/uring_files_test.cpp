#include "io/uring_files.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <liburing.h>

namespace pillion::io {
namespace {

class uring_files_test : public ::testing::Test {
 protected:
    void SetUp() override {
        if (const int failed = io_uring_queue_init(8, &ring, 0); failed < 0) {
            GTEST_SKIP() << "no io_uring here: " << ::strerrorname_np(-failed);
        }
        made = true;
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    }
    void TearDown() override {
        if (made) {
            io_uring_queue_exit(&ring);
            ::close(ends[0]);
            ::close(ends[1]);
        }
    }
    ::io_uring ring{};
    bool made = false;
    int ends[2] = {-1, -1};
};

TEST_F(uring_files_test, known_once_added_until_forgotten) {
    uring_files files;
    EXPECT_FALSE(files.add(ring, ends[0])) << "not open";
    files.open(ring);
    EXPECT_FALSE(files.has(ends[0]));
    EXPECT_FALSE(files.forget(ends[0]));
    EXPECT_TRUE(files.add(ring, ends[0]));
    EXPECT_TRUE(files.has(ends[0]));
    EXPECT_FALSE(files.add(ring, ends[0])) << "a second system call";
    EXPECT_FALSE(files.has(ends[1]));
    EXPECT_TRUE(files.forget(ends[0]));
    EXPECT_FALSE(files.has(ends[0]));
    EXPECT_TRUE(files.add(ring, ends[0]));
}

TEST_F(uring_files_test, what_the_system_refuses_is_not_known) {
    uring_files files;
    files.open(ring);
    constexpr int nobodys = 900;
    ASSERT_EQ(::fcntl(nobodys, F_GETFD), -1);
    EXPECT_TRUE(files.add(ring, nobodys)) << "it was asked";
    EXPECT_FALSE(files.has(nobodys));
    for (const int fd : {-1, static_cast<int>(uring_files::descriptors_max), 1 << 30}) {
        EXPECT_FALSE(files.add(ring, fd)) << fd;
        EXPECT_FALSE(files.has(fd)) << fd;
        EXPECT_FALSE(files.forget(fd)) << fd;
    }
}

TEST_F(uring_files_test, a_table_is_no_larger_than_the_process_may_have_descriptors) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    constexpr int limit = 64;
    rlimit small = before;
    small.rlim_cur = limit;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &small), 0);
    uring_files files;
    files.open(ring);
    const bool low = files.add(ring, ends[0]);
    const bool high = files.add(ring, limit);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(low);
    EXPECT_TRUE(files.has(ends[0]));
    EXPECT_FALSE(high);
}

}  // namespace
}  // namespace pillion::io
