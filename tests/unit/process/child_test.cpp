// child: programs of the real system, on each backend: how they begin, what they see, and that
// nothing of them is left.
#include "process/child.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "unit/io/backend_fixture.hpp"

namespace pillion::process {
namespace {

using io::testing::backend_test;

struct child_test : backend_test, child_watcher {
    void on_exit(const exit_status& what) override {
        EXPECT_FALSE(ended);
        ended = true;
        how = what;
    }
    void TearDown() override {
        it.reset();
        backend_test::TearDown();
    }
    // Empty when it has started.
    std::string begin(std::vector<std::string> argv, start_options more = {}) {
        more.argv = std::move(argv);
        std::string fault;
        ended = false;
        it = std::make_unique<child>(*loop, *this);
        return it->start(more, fault) ? "" : fault;
    }
    std::string shell(const std::string& script, start_options more = {}) {
        more.environment.emplace_back("PATH=/usr/bin:/bin");
        return begin({"/bin/sh", "-c", script}, std::move(more));
    }
    void wait() {
        EXPECT_TRUE(until([&] { return ended; }));
    }
    // What it writes, once it has ended; short enough for a pipe.
    std::string output() {
        wait();
        char some[4096];
        const ssize_t n = ::read(it->output_fd(), some, sizeof some);
        return {some, n > 0 ? static_cast<std::size_t>(n) : 0};
    }
    static std::size_t descriptors() {
        std::size_t all = 0;
        for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
            all += one.exists() ? 1 : 0;
        }
        return all;
    }
    // One that waits for whoever has it now to reap it has ended.
    static bool is_there(pid_t pid) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
        std::string number;
        std::string name;
        std::string state;
        return static_cast<bool>(file >> number >> name >> state) && state != "Z";
    }

    std::unique_ptr<child> it;
    bool ended = false;
    exit_status how;
};

TEST_P(child_test, codes_and_signals) {
    EXPECT_EQ(shell("exit 7"), "");
    EXPECT_TRUE(it->running());
    wait();
    EXPECT_FALSE(it->running());
    EXPECT_EQ(describe(how), "it ended with code 7");
    EXPECT_EQ(shell("kill -9 $$"), "");
    wait();
    EXPECT_EQ(describe(how), "it was killed by SIGKILL");
}

TEST_P(child_test, what_it_sees) {
    start_options more;
    more.environment = {"A=b", "C=d e"};
    more.folder = "/tmp";
    EXPECT_EQ(begin({"/usr/bin/env"}, more), "");
    EXPECT_EQ(output(), "A=b\nC=d e\n");
    EXPECT_EQ(begin({"/bin/pwd"}, more), "");
    EXPECT_EQ(output(), "/tmp\n");
    // Standard descriptors and the directory that is read.
    EXPECT_EQ(shell("ls /proc/self/fd"), "");
    EXPECT_EQ(output(), "0\n1\n2\n3\n");
    // Neither blocked nor ignored signals of ours, a group of its own, no new privileges.
    EXPECT_EQ(shell("grep -E 'SigBlk|SigIgn|NoNewPrivs' /proc/self/status"), "");
    EXPECT_EQ(output(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nNoNewPrivs:\t1\n");
    start_options few;
    few.limits.open_files = 17;
    EXPECT_EQ(shell("ulimit -c; ulimit -n", few), "");
    EXPECT_EQ(output(), "0\n17\n");
}

TEST_P(child_test, what_it_reads) {
    EXPECT_EQ(begin({"/bin/cat"}), "");
    EXPECT_EQ(::write(it->input_fd(), "hello", 5), 5);
    it->close_input();
    EXPECT_EQ(output(), "hello");
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    start_options more;
    more.input_fd = null;
    EXPECT_EQ(begin({"/bin/cat"}, more), "");
    EXPECT_LT(it->input_fd(), 0);
    EXPECT_EQ(output(), "");
    ::close(null);
}

TEST_P(child_test, what_cannot_be_run) {
    const std::size_t before = descriptors();
    EXPECT_EQ(begin({"/none/such"}), "it cannot be run: No such file or directory");
    EXPECT_EQ(begin({"no-such-program"}), "it is not in PATH");
    EXPECT_EQ(begin({"/etc/passwd"}), "it cannot be run: Permission denied");
    EXPECT_EQ(begin({"/tmp"}), "it cannot be run: Permission denied");
    start_options more;
    more.folder = "/none";
    EXPECT_EQ(begin({"/bin/true"}, more), "it cannot be run: No such file or directory");
    it.reset();
    EXPECT_EQ(descriptors(), before);
}

TEST_P(child_test, no_descriptor_is_left_for_it) {
    rlimit was{};
    ::getrlimit(RLIMIT_NOFILE, &was);
    rlimit few = was;
    // The first pipe fits; UBSan needs as much to look at an object.
    few.rlim_cur = descriptors() + 2;
    ::setrlimit(RLIMIT_NOFILE, &few);
    EXPECT_EQ(begin({"/bin/true"}), "no pipe: Too many open files");
    ::setrlimit(RLIMIT_NOFILE, &was);
    EXPECT_EQ(begin({"/bin/true"}), "");
    wait();
}

TEST_P(child_test, it_is_asked_to_end_and_then_killed) {
    EXPECT_EQ(shell("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"), "");
    char some[16];
    EXPECT_EQ(::read(it->output_fd(), some, sizeof some), 6);
    it->terminate(60'000);
    wait();
    EXPECT_EQ(how.code, 5);
    EXPECT_EQ(shell("trap '' TERM; echo ready; while :; do sleep 1; done"), "");
    EXPECT_EQ(::read(it->output_fd(), some, sizeof some), 6);
    it->terminate(50);
    it->terminate(60'000);  // once is enough
    wait();
    EXPECT_EQ(how.signal, SIGKILL);
    EXPECT_EQ(shell("trap '' TERM; sleep 1000"), "");
    it->terminate(0);
    wait();
    EXPECT_EQ(how.signal, SIGKILL);
    it->terminate(0);  // of one that has ended: nothing
    it->look();
}

TEST_P(child_test, its_group_ends_with_it) {
    EXPECT_EQ(shell("trap '' TERM; sleep 1000 & echo $!"), "");
    const pid_t left = std::stoi(output());
    EXPECT_TRUE(until([&] { return !is_there(left); }));
    EXPECT_EQ(shell("trap '' TERM; sleep 1000 & echo $!; wait"), "");
    char some[16] = {};
    EXPECT_GT(::read(it->output_fd(), some, sizeof some - 1), 0);
    it->terminate(20);
    wait();
    EXPECT_TRUE(until([&] { return !is_there(std::stoi(some)); }));
}

TEST_P(child_test, many_leave_nothing) {
    const std::size_t before = descriptors();
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(begin({"/bin/true"}), "");
        wait();
        EXPECT_EQ(how.code, 0);
    }
    it.reset();
    // io_uring closes in its turns.
    EXPECT_TRUE(until([&] { return descriptors() == before; }));
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

INSTANTIATE_TEST_SUITE_P(backends, child_test, ::testing::Values("uring", "uring_single", "epoll"));

}  // namespace
}  // namespace pillion::process
