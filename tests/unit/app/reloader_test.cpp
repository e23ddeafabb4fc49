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
        start.keys = make_config_table(options, server_profile::generic);
        start.file = file;
        start.flags.resize(start.keys.size());
        begin_with("limits:\n  request_timeout: 5s\n");
    }
    void begin_with(const char* text) {
        std::ofstream(file) << text;
        config_faults faults;
        ASSERT_TRUE(load(start, faults)) << (faults.empty() ? "" : describe(faults[0], file));
    }
    // What a reload of that text says in the log; the settings are those that run then.
    std::string reload(reloader& r, const char* text) {
        std::ofstream(file) << text;
        r.request(helpers, home, [](const auto&, const auto&) {});
        helpers.run();
        return logged();
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

TEST_F(reloader_test, what_waits_for_a_restart_stays) {
    begin_with(
        "http: {port: 1}\nserver: {threads: 2}\nlimits: {sessions: 5}\n"
        "tools: {x: {scopes: a}}\nmethods: {ping: {scopes: a}}\n");
    reloader r(std::move(start), accept);
    const std::string text =
        reload(r,
               "http: {port: 2, path: /x, legacy_sse: false}\nserver: {threads: 3, io: epoll}\n"
               "limits: {sessions: 6, session_ttl: 1s}\n"
               "tools: {x: {scopes: b}, y: {scopes: c, command: {argv: [y]}}}\n"
               "prompts: {p: {scopes: d}}\n");
    EXPECT_NE(text.find("keys=\"http.port, http.path, server.threads, server.io, limits.sessions, "
                        "tools, prompts, methods\""),
              text.npos)
        << text;
    const settings& now = *r.running();
    EXPECT_EQ(now.listen[0].port, 1);
    EXPECT_EQ(now.path, "/mcp");
    EXPECT_EQ(now.threads, 2U);
    EXPECT_EQ(now.io, io::backend_mode::automatic);
    EXPECT_EQ(now.service.sessions_max, 5U);
    EXPECT_FALSE(now.legacy_sse);
    EXPECT_EQ(now.service.session_idle_ms, 1000);
    // Of tools that the file makes all is new, of others what had no rule: it may be new itself.
    std::string guards;
    for (const detail::operator_scopes& one : now.guards) {
        guards += one.name + ":" + one.scopes.at(0) + " ";
    }
    EXPECT_EQ(guards, "y:c p:d x:a ping:a ");
}

// The new file was checked against its own start-only keys, and then the running ones were put
// back: what one profile refuses was let in by the other, which never came into force.
TEST_F(reloader_test, what_changes_is_checked_beside_what_stays) {
    begin_with("server: {profile: corporate}\nhttp: {listen: 'unix:/tmp/s'}\n");
    reloader r(std::move(start), accept);
    const reloader::settings_ref before = r.running();
    const std::string text =
        reload(r, "http: {listen: 'unix:/tmp/s', allowed_origins: [https://a.example, '*']}\n");
    EXPECT_NE(text.find(file + ":1:68: http.allowed_origins: the corporate profile names every "
                               "origin, not *; until a restart these stay as they are: "
                               "server.profile\" faults=1"),
              text.npos)
        << text;
    EXPECT_EQ(r.running(), before);
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
