// child_link: programs of the real system that speak in lines, in pieces, too much, or not at all.
#include "sidecar/child_link.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <string>
#include <vector>

#include "unit/io/backend_fixture.hpp"

namespace pillion::sidecar {
namespace {

using io::testing::backend_test;

struct child_link_test : backend_test, link_reader {
    void on_message(std::string_view message) override { heard.emplace_back(message); }
    bool waits_for(std::uint64_t) const override { return false; }
    void on_session_lost(std::uint64_t) override { ADD_FAILURE(); }
    void on_gap() override {}
    void on_end(std::string what) override {
        EXPECT_FALSE(ended);
        ended = true;
        why = std::move(what);
    }
    void start(const std::string& script, std::size_t most = 1 << 20) {
        bridge_spec spec;
        spec.name = "s";
        spec.argv = {"/bin/sh", "-c", script};
        spec.environment.emplace_back("PATH", "/usr/bin:/bin");
        spec.message_bytes_max = most;
        start(spec);
    }
    void start(const bridge_spec& spec) {
        heard.clear();
        why.clear();
        ended = false;
        it = link_to_child(*loop, spec);
        it->start(*this);
        EXPECT_TRUE(heard.empty() && !ended);
    }
    // What it said until its end.
    const std::vector<std::string>& all_of(const std::string& script) {
        start(script);
        wait_for_end();
        return heard;
    }
    void wait_for_end() {
        EXPECT_TRUE(until([&] { return ended; }));
        it.reset();
    }
    void TearDown() override {
        if (it != nullptr) {
            it->close();
            wait_for_end();
        }
        backend_test::TearDown();
    }

    std::unique_ptr<server_link> it;
    std::vector<std::string> heard;
    std::string why;
    bool ended = false;
};

using lines = std::vector<std::string>;

TEST_P(child_link_test, messages_are_lines_both_ways) {
    start("trap '' TERM; while read -r line; do echo \"<$line>\"; done; exit 3");
    it->send("one");
    it->send(R"({"two":"ü"})");
    ASSERT_TRUE(until([&] { return heard.size() == 2; }));
    EXPECT_EQ(heard, (lines{"<one>", R"(<{"two":"ü"}>)"}));
    it->close();
    it->close();
    it->send("too late");
    wait_for_end();
    EXPECT_EQ(heard.size(), 2U);
    EXPECT_EQ(why, "it ended with code 3");  // since there is no more to read
}

// It was told to end by TERM as well, at once: what it does at the end of its input was not done.
TEST_P(child_link_test, who_ends_with_its_input_ends_as_it_likes) {
    start("echo here; while read -r line; do :; done; sleep 0.05; exit 5");
    ASSERT_TRUE(until([&] { return heard.size() == 1; }));
    it->close();
    wait_for_end();
    EXPECT_EQ(why, "it ended with code 5");
}

// The second piece comes when the first one may have been read.
TEST_P(child_link_test, a_message_split_anywhere_is_one) {
    const std::string text = "{\"a\":\"bc\"}\r\n\nx\n";
    for (std::size_t n = 1; n < text.size(); ++n) {
        bridge_spec spec;
        spec.argv = {"/bin/sh", "-c", "printf %s \"$A\"; read -r go; printf %s \"$B\""};
        spec.environment = {{"A", text.substr(0, n)}, {"B", text.substr(n)}};
        start(spec);
        turns(3);
        it->send("go");
        wait_for_end();
        EXPECT_EQ(heard, (lines{"{\"a\":\"bc\"}", "x"})) << n;
    }
}

// What it had said when its end was seen, and what had not been read yet, was thrown away. It
// speaks and ends in the very turn here that looks for its end, after that turn has read.
TEST_P(child_link_test, what_it_said_before_its_end_is_heard_after_it) {
    start("echo $$; kill -STOP $$; printf '%060000d\\nlast\\n' 7; exit 3");
    ASSERT_TRUE(until([&] { return heard.size() == 1; }));
    struct {
        id_t pid;
        bool ended = false;
    } it_is{static_cast<id_t>(std::stoi(heard[0]))};
    siginfo_t how{};
    ASSERT_EQ(::waitid(P_PID, it_is.pid, &how, WSTOPPED), 0);
    io::timer goes_on(
        [](io::timer&, void* owner) noexcept {
            auto& who = *static_cast<decltype(it_is)*>(owner);
            siginfo_t what{};
            who.ended = ::kill(static_cast<pid_t>(who.pid), SIGCONT) == 0 &&
                        ::waitid(P_PID, who.pid, &what, WEXITED | WNOWAIT) == 0;
        },
        &it_is);
    const std::int64_t now_ms = loop->now_ns() / 1'000'000;
    ASSERT_TRUE(until([&] { return loop->now_ns() / 1'000'000 - now_ms > 200; }));
    loop->arm_in_ms(goes_on, 0);  // it is looked for every 100 ms now
    ::usleep(120'000);
    wait_for_end();
    EXPECT_TRUE(it_is.ended);
    ASSERT_EQ(heard.size(), 3U);
    EXPECT_EQ(heard[1], std::string(59'999, '0') + "7");
    EXPECT_EQ(heard[2], "last");
    EXPECT_EQ(why, "it ended with code 3");
}

// Who has left the group and holds the pipes is not waited for.
TEST_P(child_link_test, a_pipe_that_somebody_holds_is_let_go) {
    start("setsid sh -c 'echo $$; exec sleep 1000' & read -r go; exit 4");
    ASSERT_TRUE(until([&] { return heard.size() == 1; }));
    it->send("go");
    wait_for_end();
    EXPECT_EQ(why, "it ended with code 4");
    EXPECT_EQ(::kill(static_cast<pid_t>(std::stoi(heard[0])), SIGKILL), 0);
}

TEST_P(child_link_test, what_is_no_whole_line_is_no_message) {
    EXPECT_EQ(all_of("printf 'a\\nhalf'"), (lines{"a"}));
    EXPECT_EQ(all_of("printf '\\n\\r\\n\\n'"), lines{});
    EXPECT_EQ(all_of("printf 'a\\rb\\r\\r\\n'"), (lines{"a\rb\r"}));
}

TEST_P(child_link_test, how_it_ended_is_said_with_its_last_words) {
    EXPECT_EQ(all_of("exit 7"), lines{});
    EXPECT_EQ(why, "it ended with code 7");
    all_of("echo first >&2; echo 'the disk is on fire' >&2; kill -9 $$");
    EXPECT_EQ(why, "it was killed by SIGKILL: the disk is on fire");
    // What it said last is heard, although it has ended.
    EXPECT_EQ(all_of("echo last; exit 1"), (lines{"last"}));
    bridge_spec nobody;
    nobody.argv = {"/none/such"};
    start(nobody);
    wait_for_end();
    EXPECT_NE(why.find("No such file"), why.npos) << why;
}

TEST_P(child_link_test, a_message_without_end_ends_it) {
    start("while :; do echo -n xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", 10'000);
    wait_for_end();
    EXPECT_EQ(why, "its message is too large");
    EXPECT_TRUE(heard.empty());
    start("head -c 9999 /dev/zero | tr '\\0' x; echo; read -r go", 10'000);
    ASSERT_TRUE(until([&] { return heard.size() == 1; }));
    EXPECT_EQ(heard[0], std::string(9999, 'x'));
}

TEST_P(child_link_test, one_that_does_not_read_is_ended) {
    start("while :; do sleep 1; done", 100'000);
    for (int i = 0; i < 100; ++i) {
        it->send(std::string(10'000, 'x'));
        turns(1);
    }
    wait_for_end();
    EXPECT_EQ(why, "it does not read what it is sent");
}

TEST_P(child_link_test, one_that_does_not_want_to_end_is_killed) {
    start("trap '' TERM; echo up; while :; do sleep 1; done");
    ASSERT_TRUE(until([&] { return heard.size() == 1; }));
    it->close();
    wait_for_end();
    EXPECT_EQ(why, "it was killed by SIGKILL");
}

// Its pipes are held by somebody who has left its group, whom nobody ends.
TEST_P(child_link_test, who_holds_its_pipes_does_not_hold_it) {
    start("exec 3>&1; setsid sh -c 'echo away >&3; sleep 3' & read -r go; exit 5");
    ASSERT_TRUE(until([&] { return heard.size() == 1; }));
    it->send("go");
    ASSERT_TRUE(until([&] { return ended; }));
    EXPECT_EQ(why, "it ended with code 5");
}

INSTANTIATE_TEST_SUITE_P(kernels, child_link_test,
                         ::testing::Values("uring", "uring_single", "epoll"));

}  // namespace
}  // namespace pillion::sidecar
