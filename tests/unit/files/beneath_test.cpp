// beneath: the kernel keeps opens inside, sorted portions of large directories, and refusal where
// openat2 is missing.
#include "files/beneath.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <cerrno>
#include <cstddef>

#include <gtest/gtest.h>

#include "temporary_tree.hpp"

namespace pillion::files {
namespace {

unique_fd open_root(const temporary_tree& tmp) {
    return unique_fd(::open(tmp.at().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

unique_fd open_for_reading(const temporary_tree& tmp, std::string_view path) {
    return unique_fd(::open(tmp.at(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// In a child where openat2 ends with `fault`: the text of the refusal is compared.
bool refused_without_openat2(int fault, std::string_view expected) {
    const pid_t child = ::fork();
    if (child == 0) {
        sock_filter rules[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(fault)),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog program{sizeof rules / sizeof rules[0], rules};
        if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
            ::_exit(2);
        }
        const result<tree> opened = tree::open("/tmp", options());
        ::_exit(!opened && opened.error().kind == errc::unsupported &&
                        std::string_view(opened.error().detail).find(expected) !=
                            std::string_view::npos
                    ? 0
                    : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(beneath, a_tree_is_refused_where_openat2_is_missing) {
    EXPECT_TRUE(refused_without_openat2(ENOSYS, "no openat2"));
    EXPECT_TRUE(refused_without_openat2(EPERM, "sandbox"));
}

TEST(beneath, paths_that_leave_are_refused_by_the_kernel_itself) {
    const temporary_tree tmp;
    tmp.file("in/a");
    tmp.file("../outside");
    tmp.link("in/up", "../../outside");
    tmp.link("in/absolute", tmp.at("in/a").string());
    const unique_fd root = open_root(tmp);
    const auto open = [&](std::string_view path, links how) {
        return unique_fd(open_beneath(root.get(), path, O_RDONLY, how)).get();
    };
    EXPECT_GE(open("in/a", links::refuse), 0);
    EXPECT_GE(open("in/../in/a", links::follow), 0);
    EXPECT_EQ(open("../outside", links::follow), -EXDEV);
    EXPECT_EQ(open("in/up", links::follow), -EXDEV);
    EXPECT_EQ(open("in/absolute", links::follow), -EXDEV);
    EXPECT_EQ(open("/etc/passwd", links::follow), -EXDEV);
    EXPECT_EQ(open("in/up", links::refuse), -ELOOP);
}

TEST(beneath, portions_of_any_size_give_all_names_sorted) {
    const temporary_tree tmp;
    std::vector<std::string> expected;
    for (int i = 0; i < 23; ++i) {
        expected.push_back("n" + std::to_string(i * 37 % 23));
        tmp.file(expected.back());
    }
    std::sort(expected.begin(), expected.end());
    for (std::size_t count = 1; count <= 25; ++count) {
        std::vector<std::string> got;
        bool more = true;
        while (more) {
            auto batch =
                read_names(open_for_reading(tmp, ""), got.empty() ? "" : got.back(), count, false);
            ASSERT_TRUE(batch);
            EXPECT_EQ(batch->scanned, 25U);
            EXPECT_LE(batch->names.size(), count);
            for (const raw_name& one : batch->names) {
                got.push_back(one.name);
            }
            more = batch->more;
        }
        EXPECT_EQ(got, expected) << count;
    }
}

TEST(beneath, names_that_are_not_served_are_left_out) {
    const temporary_tree tmp;
    tmp.file("a");
    tmp.file(".dot");
    tmp.file("bad\xFF");
    tmp.fifo("fifo");
    tmp.socket("socket");
    auto shown = read_names(open_for_reading(tmp, ""), "", 10, false);
    ASSERT_TRUE(shown);
    ASSERT_EQ(shown->names.size(), 1U);
    EXPECT_EQ(shown->names[0].name, "a");
    EXPECT_FALSE(shown->more);
    auto all = read_names(open_for_reading(tmp, ""), "", 10, true);
    ASSERT_TRUE(all);
    ASSERT_EQ(all->names.size(), 2U);
    EXPECT_EQ(all->names[0].name, ".dot");
}

TEST(beneath, every_errno_has_a_kind) {
    EXPECT_EQ(access_error(ENOENT).kind, errc::not_found);
    EXPECT_EQ(access_error(EXDEV).kind, errc::denied);
    EXPECT_EQ(access_error(ELOOP).kind, errc::denied);
    EXPECT_EQ(access_error(EACCES).kind, errc::denied);
    EXPECT_EQ(access_error(EMFILE).kind, errc::unavailable);
    EXPECT_EQ(access_error(EIO).kind, errc::io);
    EXPECT_EQ(access_error(EIO).os_errno, EIO);
}

}  // namespace
}  // namespace pillion::files
