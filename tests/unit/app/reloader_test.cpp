#include "app/reloader.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "io/epoll_backend.hpp"

namespace pillion::app {
namespace {

// Works when it is told to.
class by_hand final : public io::offload {
 public:
    bool submit(io::reactor&, base::unique_function<void()> work,
                base::unique_function<void()> done_on_home) override {
        work_ = std::move(work);
        done_ = std::move(done_on_home);
        return true;
    }
    void run() {
        work_();
        done_();
    }

 private:
    base::unique_function<void()> work_;
    base::unique_function<void()> done_;
};

class reloader_test : public ::testing::Test {
 protected:
    void SetUp() override {
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        log::set_descriptor(ends[1]);
        std::ofstream(file) << "limits:\n  request_timeout: 5s\n";
        start.keys = make_config_table(options, server_profile::generic);
        start.file = file;
        start.flags.resize(start.keys.size());
        config_faults faults;
        ASSERT_TRUE(load(start, faults)) << (faults.empty() ? "" : describe(faults[0], file));
    }
    void TearDown() override {
        log::set_descriptor(2);
        ::close(ends[0]);
        ::close(ends[1]);
        std::remove(file.c_str());
    }
    std::string logged() {
        char buf[4096];
        const ssize_t n = ::read(ends[0], buf, sizeof buf);
        return n <= 0 ? "" : std::string(buf, static_cast<std::size_t>(n));
    }
    static bool accept(const settings&, const settings&, std::string&) { return true; }

    int ends[2] = {-1, -1};
    // Suites run beside each other.
    std::string file = ::testing::TempDir() + "reloader_test." + std::to_string(::getpid());
    std::vector<detail::own_option> options;
    configuration start;
    by_hand helpers;
    io::reactor home{std::move(*io::make_epoll_backend({}))};
};

// A log that said "reloaded" while other threads still had the old settings: a test of renewed
// certificates saw the old one after the new one.
TEST_F(reloader_test, in_force_is_said_when_the_last_thread_has_it) {
    reloader r(std::move(start), accept);
    std::ofstream(file) << "limits:\n  request_timeout: 7s\n";
    reloader::settings_ref given;
    reloader::in_force first;
    reloader::in_force second;
    r.request(helpers, home, [&](const auto& to, const auto& all) {
        given = to;
        first = second = all;
    });
    EXPECT_TRUE(r.busy());
    helpers.run();
    EXPECT_FALSE(r.busy());
    ASSERT_NE(given, nullptr);
    EXPECT_EQ(given, r.running());
    EXPECT_EQ(logged(), "");
    first.reset();
    EXPECT_EQ(logged(), "");
    second.reset();
    EXPECT_NE(logged().find(" info config.reloaded file="), std::string::npos);
}

TEST_F(reloader_test, what_waits_for_a_restart_is_said_after_it) {
    reloader r(std::move(start), accept);
    std::ofstream(file) << "server:\n  threads: 2\n";
    r.request(helpers, home, [](const auto&, const auto&) {});
    helpers.run();
    const std::string text = logged();
    const std::size_t at = text.find("config.reloaded");
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_NE(text.find("config.needs_restart keys=server.threads", at), std::string::npos) << text;
}

TEST_F(reloader_test, what_is_refused_changes_nothing) {
    reloader r(std::move(start), accept);
    const reloader::settings_ref before = r.running();
    std::ofstream(file) << "no_such_key: 1\n";
    bool told = false;
    r.request(helpers, home,
              [&](const auto& to, const auto& all) { told = to == nullptr && all == nullptr; });
    helpers.run();
    EXPECT_TRUE(told);
    EXPECT_EQ(r.running(), before);
    const std::string text = logged();
    EXPECT_NE(text.find("config.refused"), std::string::npos) << text;
    EXPECT_EQ(text.find("config.reloaded"), std::string::npos) << text;
}

}  // namespace
}  // namespace pillion::app
