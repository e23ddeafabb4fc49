// Who is at the other end of a unix socket, and who may be.
#include "io/unix_peer.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <string>

#include <gtest/gtest.h>

#include "base/assert.hpp"
#include "io/socket.hpp"

namespace pillion::io::testing {
namespace {

struct pair {
    pair() { PILLION_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0); }
    ~pair() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    int ends[2] = {-1, -1};
};

TEST(unix_peer, says_which_user_it_is) {
    const pair p;
    EXPECT_EQ(peer_user(p.ends[0]), ::geteuid());
    const peer_name name = peer_of(p.ends[0]);
    EXPECT_EQ(name.view(), "unix:uid:" + std::to_string(::geteuid()));
    EXPECT_EQ(name.principal(), "uid:" + std::to_string(::geteuid()));
    EXPECT_EQ(name.address(), "");
}

TEST(unix_peer, other_sockets_have_no_user) {
    const int tcp = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(peer_user(tcp), std::nullopt);
    ::close(tcp);
    EXPECT_EQ(peer_user(-1), std::nullopt);
    EXPECT_EQ(peer_of(-1).principal(), "");
}

TEST(unix_peer, own_user_is_always_allowed_and_unknown_ones_never) {
    const pair p;
    unix_peers peers;
    EXPECT_TRUE(peers.unnamed());
    EXPECT_TRUE(peers.allow(p.ends[0]));
    peers.users = {12345};
    EXPECT_FALSE(peers.unnamed());
    EXPECT_TRUE(peers.allow(p.ends[0]));
    EXPECT_FALSE(peers.allow(-1));
}

TEST(unix_peer, names_and_numbers_are_found) {
    EXPECT_EQ(find_user("root"), 0U);
    EXPECT_EQ(find_user("4711"), 4711U);
    EXPECT_EQ(find_group("root"), 0U);
    EXPECT_EQ(find_group("0"), 0U);
    for (const char* none : {"", "no such user", "-1", "4294967295", "99999999999", "1x"}) {
        EXPECT_EQ(find_user(none), std::nullopt) << none;
        EXPECT_EQ(find_group(none), std::nullopt) << none;
    }
}

TEST(unix_peer, file_admits_others_only_when_they_are_told_apart_later) {
    const std::string path = ::testing::TempDir() + "unix_peer_" + std::to_string(::getpid());
    listen_spec spec;
    spec.kind = listen_kind::unix_path;
    spec.path = path;
    for (const bool others : {false, true}) {
        spec.others = others;
        const auto made = open_listeners(spec, 1);
        ASSERT_TRUE(made.ok());
        struct stat info{};
        ASSERT_EQ(::stat(path.c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777U, others ? 0666U : 0600U);
    }
}

}  // namespace
}  // namespace pillion::io::testing
