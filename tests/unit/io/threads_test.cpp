// What crosses threads: the inbox, waking, stopping, the blocking pool. Made for TSan too.
#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <functional>
#include <system_error>
#include <thread>

#include "backend_fixture.hpp"
#include "base/log.hpp"
#include "io/blocking_pool.hpp"

namespace pillion::io::testing {
namespace {

std::unique_ptr<backend> any_backend(bool epoll) {
    std::string note;
    backend_options small;
    small.submission_entries = 64;
    small.completion_entries = 256;
    auto made = make_backend(epoll ? backend_mode::epoll : backend_mode::automatic, note, small);
    EXPECT_TRUE(made);
    return std::move(*made);
}

TEST(inbox, jobs_of_each_thread_run_in_order_and_none_is_lost) {
    for (const bool epoll : {false, true}) {
        reactor loop(any_backend(epoll));
        constexpr int threads = 4;
        constexpr int jobs = 5000;
        int next[threads] = {};
        int done = 0;
        std::vector<std::thread> posters;
        for (int t = 0; t < threads; ++t) {
            posters.emplace_back([&, t] {
                for (int i = 0; i < jobs; ++i) {
                    loop.post([&, t, i] {
                        EXPECT_EQ(next[t]++, i);
                        if (++done == threads * jobs) {
                            loop.stop();
                        }
                    });
                    if (i % 100 == 0) {
                        ::usleep(50);
                    }
                }
            });
        }
        loop.run();
        for (std::thread& t : posters) {
            t.join();
        }
        EXPECT_EQ(done, threads * jobs);
    }
}

TEST(inbox, ping_pong_between_two_loops_never_sleeps_through_a_post) {
    for (const bool epoll : {false, true}) {
        reactor here(any_backend(epoll));
        std::atomic<reactor*> there{nullptr};
        std::thread other([&] {
            reactor loop(any_backend(epoll));
            there.store(&loop);
            loop.run();
        });
        while (there.load() == nullptr) {
            std::this_thread::yield();
        }
        int round = 0;
        std::function<void()> ping = [&] {
            if (++round == 2000) {
                there.load()->stop();
                return here.stop();
            }
            there.load()->post([&] { here.post([&] { ping(); }); });
        };
        here.post([&] { ping(); });
        here.run();
        other.join();
        EXPECT_EQ(round, 2000);
    }
}

TEST(inbox, stop_from_another_thread_and_late_jobs) {
    auto alive = std::make_shared<int>(1);
    {
        reactor loop(any_backend(true));
        std::thread other([&] {
            ::usleep(10'000);
            loop.stop();
        });
        loop.run();
        other.join();
        loop.post([alive] { FAIL(); });
    }
    EXPECT_EQ(alive.use_count(), 1);
}

TEST(blocking_pool, runs_elsewhere_reports_here_and_refuses_beyond_its_queue) {
    reactor loop(any_backend(true));
    const auto home = std::this_thread::get_id();
    blocking_pool pool(2, 4);
    std::atomic<bool> go{false};
    std::atomic<int> worked{0};
    int reported = 0;
    int accepted = 0;
    for (int i = 0; i < 20; ++i) {
        accepted += pool.submit(
                        loop,
                        [&] {
                            EXPECT_NE(std::this_thread::get_id(), home);
                            while (!go.load()) {
                                std::this_thread::yield();
                            }
                            ++worked;
                        },
                        [&] {
                            EXPECT_EQ(std::this_thread::get_id(), home);
                            ++reported;
                        })
                        ? 1
                        : 0;
    }
    EXPECT_GE(accepted, 4);
    EXPECT_LE(accepted, 6);
    go.store(true);
    while (reported < accepted) {
        loop.run_one(10'000'000);
    }
    EXPECT_EQ(worked.load(), accepted);
}

TEST(blocking_pool, its_end_still_answers_who_waits) {
    reactor loop(any_backend(true));
    std::atomic<bool> go{false};
    int reported = 0;
    std::thread opener;
    {
        blocking_pool pool(1, 8);
        for (int i = 0; i < 5; ++i) {
            pool.submit(
                loop,
                [&] {
                    while (!go.load()) std::this_thread::yield();
                },
                [&] { ++reported; });
        }
        opener = std::thread([&] {
            ::usleep(20'000);
            go.store(true);
        });
    }
    opener.join();
    loop.run_one(0);
    EXPECT_EQ(reported, 5);
}

// As many threads as the system lets this process have, from here on: none more, or again any.
void allow_threads(bool on) {
    rlimit most{};
    ::getrlimit(RLIMIT_NPROC, &most);
    most.rlim_cur = on ? most.rlim_max : 0;
    ::setrlimit(RLIMIT_NPROC, &most);
}

constexpr int cannot_limit = 77;

// Runs it in a child that may be denied threads, which root may not be; what it returns.
int in_child_without_privileges(const std::function<int()>& what) {
    const pid_t child = ::fork();
    if (child == 0) {
        constexpr int nobody = 65534;
        if (::geteuid() == 0 &&
            (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0)) {
            ::_exit(cannot_limit);
        }
        allow_threads(false);
        try {
            std::thread([] {}).join();
            ::_exit(cannot_limit);
        } catch (const std::system_error&) {
            allow_threads(true);
        }
        // An exception ends the child here, not in the test that it is a copy of.
        [&]() noexcept { ::_exit(what()); }();
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// pids.max, TasksMax and ulimit -u let std::thread throw: a reload aborted the server.
int refused_without_any_thread() {
    log::set_level(log::level::off);
    reactor loop(any_backend(true));
    blocking_pool pool;
    int worked = 0;
    bool reported = false;
    const auto submit = [&] {
        return pool.submit(loop, [&] { ++worked; }, [&] { reported = true; });
    };
    allow_threads(false);
    if (submit()) {
        return 1;
    }
    allow_threads(true);
    if (!submit()) {
        return 2;
    }
    while (!reported) {
        loop.run_one(10'000'000);
    }
    return worked == 1 ? 0 : 3;
}

TEST(blocking_pool, refuses_while_no_thread_can_be_had) {
    const int got = in_child_without_privileges(refused_without_any_thread);
    if (got == cannot_limit) {
        GTEST_SKIP() << "threads cannot be limited here";
    }
    EXPECT_EQ(got, 0);
}

// The job of a call that had failed stayed in the queue and ran with a frame that was gone.
int served_by_those_there_are() {
    log::set_level(log::level::off);
    reactor loop(any_backend(true));
    blocking_pool pool(4);
    std::atomic<bool> go{false};
    int reported = 0;
    const auto submit = [&] {
        return pool.submit(
            loop,
            [&] {
                while (!go.load()) {
                    std::this_thread::yield();
                }
            },
            [&] { ++reported; });
    };
    if (!submit()) {
        return 1;
    }
    allow_threads(false);
    for (int i = 0; i < 5; ++i) {
        if (!submit()) {
            return 2;
        }
    }
    go.store(true);
    while (reported < 6) {
        loop.run_one(10'000'000);
    }
    return 0;
}

TEST(blocking_pool, goes_on_with_the_threads_it_has) {
    const int got = in_child_without_privileges(served_by_those_there_are);
    if (got == cannot_limit) {
        GTEST_SKIP() << "threads cannot be limited here";
    }
    EXPECT_EQ(got, 0);
}

}  // namespace
}  // namespace pillion::io::testing
