// command_run: programs of the real system, on each backend: what they write, up to a bound, and
// how they end or are ended.
#include "sidecar/command_run.hpp"

#include <optional>
#include <string>

#include "coro/stop.hpp"
#include "unit/io/backend_fixture.hpp"

namespace pillion::sidecar {
namespace {

using io::testing::backend_test;

// Starts at once and frees itself at its end.
struct detached {
    struct promise_type {
        detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

detached finish(command_run& of, coro::stop_node& stop, std::optional<bool>& by_itself) {
    const bool done = co_await of.finish(stop);
    by_itself = done;
}

struct command_run_test : backend_test {
    command_run_test() {
        bounds.output_bytes_max = 100'000;
        bounds.stderr_tail_bytes = 10;
        bounds.kill_after_ms = 50;
    }
    void TearDown() override {
        it.reset();
        backend_test::TearDown();
    }
    void begin(const std::string& script) {
        process::start_options what;
        what.argv = {"/bin/sh", "-c", script};
        what.environment.emplace_back("PATH=/usr/bin:/bin");
        it.emplace(*loop, bounds);
        std::string fault;
        ASSERT_TRUE(it->start(what, fault)) << fault;
        by_itself.reset();
        finish(*it, stop, by_itself);
        EXPECT_FALSE(by_itself);
    }
    // Until it is over: "it ended with code 0".
    std::string run(const std::string& script) {
        begin(script);
        return end();
    }
    std::string end() {
        EXPECT_TRUE(until([&] { return by_itself.has_value(); }));
        return describe(it->how());
    }

    command_run::bounds bounds;
    coro::stop_node stop;
    std::optional<command_run> it;
    std::optional<bool> by_itself;
};

TEST_P(command_run_test, what_it_writes_and_how_it_ends) {
    EXPECT_EQ(run("printf 'a\\nb'; printf 12345678901234567890 >&2; exit 3"),
              "it ended with code 3");
    EXPECT_EQ(by_itself, true);
    EXPECT_EQ(it->output(), "a\nb");
    EXPECT_EQ(it->error_tail(), "1234567890");
    EXPECT_FALSE(it->too_large() || it->cut());
    EXPECT_EQ(run("kill -9 $$"), "it was killed by SIGKILL");
    EXPECT_EQ(by_itself, true);
    EXPECT_EQ(it->output(), "");
    EXPECT_EQ(it->error_tail(), "");
}

TEST_P(command_run_test, the_end_of_much_that_is_said_on_stderr) {
    run("head -c 300000 /dev/zero >&2; printf 'last words' >&2");
    EXPECT_EQ(it->error_tail(), "last words");
}

TEST_P(command_run_test, output_at_its_bound_and_beyond) {
    run("head -c 100000 /dev/zero");
    EXPECT_EQ(it->output().size(), 100'000U);
    EXPECT_FALSE(it->too_large());
    run("head -c 100001 /dev/zero");
    EXPECT_TRUE(it->too_large());
    run("trap '' TERM PIPE; while :; do head -c 100000 /dev/zero; done");
    EXPECT_TRUE(it->too_large());
    EXPECT_EQ(describe(it->how()), "it was killed by SIGKILL");
}

TEST_P(command_run_test, who_is_stopped_is_ended) {
    begin("printf up; sleep 1000");
    ASSERT_TRUE(until([&] { return it->output() == "up"; }));
    stop.request(coro::stop_reason::client_cancelled);
    EXPECT_EQ(end(), "it was killed by SIGTERM");
    EXPECT_EQ(by_itself, false);
    // Requested before it began.
    EXPECT_EQ(run("sleep 1000"), "it was killed by SIGTERM");
    EXPECT_EQ(by_itself, false);
}

TEST_P(command_run_test, one_that_does_not_want_to_end_is_killed) {
    begin("trap '' TERM; printf up; while :; do sleep 1; done");
    ASSERT_TRUE(until([&] { return it->output() == "up"; }));
    stop.request(coro::stop_reason::client_cancelled);
    EXPECT_EQ(end(), "it was killed by SIGKILL");
}

TEST_P(command_run_test, one_that_closes_its_output_is_waited_for) {
    EXPECT_EQ(run("exec >&- 2>&-; sleep 0.1; exit 4"), "it ended with code 4");
    EXPECT_FALSE(it->cut());
}

// It is in another group by the time that it writes.
TEST_P(command_run_test, who_holds_its_output_is_not_waited_for) {
    begin(
        "trap 'exit 5' USR1; setsid sh -c \"printf away; kill -USR1 $$; exec sleep 3\" & "
        "while :; do wait; done");
    EXPECT_EQ(end(), "it ended with code 5");
    EXPECT_TRUE(it->cut());
    EXPECT_EQ(it->output(), "away");
}

TEST_P(command_run_test, one_that_cannot_be_started) {
    process::start_options what;
    what.argv = {"/none/such"};
    command_run none(*loop, bounds);
    std::string fault;
    EXPECT_FALSE(none.start(what, fault));
    EXPECT_NE(fault.find("No such file"), fault.npos) << fault;
}

INSTANTIATE_TEST_SUITE_P(kernels, command_run_test,
                         ::testing::Values("uring", "uring_single", "epoll"));

}  // namespace
}  // namespace pillion::sidecar
