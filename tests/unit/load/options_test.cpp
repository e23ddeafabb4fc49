// Goal: what cannot be meant is refused with one line that names it, and the rest is understood.

#include "bench/load/options.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace pillion::load {
namespace {

struct understood {
    options read;
    std::string errors;
};

understood parse_words(const std::vector<std::string>& given) {
    std::vector<std::string> texts{"pillion-bench"};
    texts.insert(texts.end(), given.begin(), given.end());
    std::vector<char*> words;
    for (std::string& text : texts) {
        words.push_back(text.data());
    }
    testing::internal::CaptureStderr();
    understood out;
    out.read = read_options(static_cast<int>(words.size()), words.data());
    out.errors = testing::internal::GetCapturedStderr();
    return out;
}

const std::string where = "http://127.0.0.1:8080/mcp";

TEST(options, defaults) {
    const options read = parse_words({where}).read;
    ASSERT_EQ(read.what, command::run);
    EXPECT_EQ(read.run.what.rev, revision::r2026_07_28);
    EXPECT_EQ(read.run.what.questions[0].what, action::ping);
    EXPECT_EQ(read.run.connections, 64U);
    EXPECT_EQ(read.run.rate, 0);
    EXPECT_EQ(read.run.duration_ns, 10'000'000'000);
    EXPECT_EQ(read.run.warm_up_ns, 1'000'000'000);
    EXPECT_EQ(read.run.timeout_ns, 10'000'000'000);
    EXPECT_EQ(read.run.to.port, 8080);
    EXPECT_EQ(read.run.to.path, "/mcp");
    EXPECT_EQ(read.run.to.host, "127.0.0.1");
}

TEST(options, all_of_them) {
    const options read = parse_words({"unix:/run/x.sock",
                                      "tools/call",
                                      "--tool",
                                      "echo",
                                      "--arguments",
                                      R"({"a": [1]})",
                                      "--path",
                                      "/m",
                                      "-H",
                                      "A: b",
                                      "-H",
                                      "C: d",
                                      "-c",
                                      "5",
                                      "--rate",
                                      "1000.5",
                                      "-d",
                                      "500ms",
                                      "--warm-up",
                                      "0s",
                                      "-n",
                                      "7",
                                      "--timeout",
                                      "2s",
                                      "--expect",
                                      "x",
                                      "--pid",
                                      "auto",
                                      "--assert",
                                      "p99 < 5ms",
                                      "--assert",
                                      "errors == 0",
                                      "--json",
                                      "-",
                                      "--ndjson",
                                      "f",
                                      "--io",
                                      "epoll",
                                      "-r",
                                      "2025-06-18",
                                      "-q"})
                             .read;
    ASSERT_EQ(read.what, command::run);
    EXPECT_TRUE(read.run.to.is_unix());
    EXPECT_EQ(read.run.to.path, "/m");
    EXPECT_EQ(read.run.what.questions[0].name, "echo");
    EXPECT_EQ(read.run.what.questions[0].arguments, R"({"a":[1]})");
    EXPECT_EQ(read.run.what.headers.size(), 2U);
    EXPECT_EQ(read.run.what.rev, revision::r2025_06_18);
    EXPECT_EQ(read.run.connections, 5U);
    EXPECT_DOUBLE_EQ(read.run.rate, 1000.5);
    EXPECT_EQ(read.run.duration_ns, 500'000'000);
    EXPECT_EQ(read.run.warm_up_ns, 0);
    EXPECT_EQ(read.run.requests, 7U);
    EXPECT_EQ(read.run.assertions.size(), 2U);
    EXPECT_EQ(read.run.io, io::backend_mode::epoll);
    EXPECT_TRUE(read.run.quiet);
}

TEST(options, requests_alone_end_by_number) {
    EXPECT_EQ(parse_words({where, "-n", "7"}).read.run.duration_ns, 0);
}

TEST(options, ramps_and_steps) {
    const run_options one = parse_words({where, "--rate", "500"}).read.run;
    EXPECT_FALSE(one.is_ramp());
    EXPECT_EQ(one.steps(), 1U);
    const run_options ramp = parse_words({where, "--rate", "500..100"}).read.run;
    EXPECT_TRUE(ramp.is_ramp());
    EXPECT_DOUBLE_EQ(ramp.rate_to, 100);
    EXPECT_EQ(ramp.steps(), 1U);
    EXPECT_EQ(parse_words({where, "--rate", "500,100,50"}).read.run.rate_steps.size(), 3U);
    const run_options wide = parse_words({where, "-c", "1,8"}).read.run;
    EXPECT_EQ(wide.steps(), 2U);
    EXPECT_EQ(wide.connections, 1U);
}

TEST(options, scenarios) {
    const run_options churn = parse_words({where, "connection-churn"}).read.run;
    EXPECT_EQ(churn.what.how, pattern::connection_churn);
    EXPECT_EQ(churn.what.questions[0].what, action::ping);
    const run_options call =
        parse_words({where, "session-churn", "--tool", "t", "-r", "2025-06-18"}).read.run;
    EXPECT_EQ(call.what.questions[0].what, action::tools_call);
    const run_options tasks = parse_words({where, "tasks", "--tool", "t", "--arguments", "auto",
                                           "--seed", "7", "--poll", "20ms", "-r", "auto"})
                                  .read.run;
    EXPECT_EQ(tasks.what.how, pattern::tasks);
    EXPECT_TRUE(tasks.makes_arguments && tasks.finds_revision);
    EXPECT_EQ(tasks.seed, 7U);
    EXPECT_EQ(tasks.poll_ns, 20'000'000);
}

TEST(options, a_command_behind_two_dashes) {
    const run_options read =
        parse_words({"tools/list", "-c", "2", "--", "stdio", "server", "-c", "x"}).read.run;
    EXPECT_TRUE(read.to.is_command());
    EXPECT_EQ(read.to.command, (std::vector<std::string>{"server", "-c", "x"}));
    EXPECT_EQ(read.connections, 2U);
    EXPECT_EQ(read.what.name, "tools/list");
}

// Where an event stream says that messages go to (REVISIONS §4).
TEST(options, endpoints_of_event_streams) {
    std::string fault;
    const target to = parse_target("http://h:80/a/sse?x=1", "", fault).value();
    const std::pair<const char*, const char*> good[] = {
        {"/messages?id=1", "/messages?id=1"},
        {"http://h:80/m", "/m"},
        {"HTTP://h:80/m", "/m"},
        {"m?id=1", "/a/m?id=1"},
        {"http://other/m", nullptr},
        {"https://h:80/m", nullptr},
        {"/a b", nullptr},
    };
    for (const auto& [uri, path] : good) {
        EXPECT_EQ(path_of_endpoint(to, uri),
                  path == nullptr ? std::nullopt : std::optional<std::string>(path))
            << uri;
    }
    const target secure = parse_target("https://h:80/a/sse", "", fault).value();
    EXPECT_EQ(path_of_endpoint(secure, "https://h:80/m"), "/m");
    EXPECT_EQ(path_of_endpoint(secure, "http://h:80/m"), std::nullopt);
}

TEST(options, targets) {
    const auto to = [](const std::string& text) { return parse_words({text}).read.run.to; };
    EXPECT_EQ(to("http://localhost").port, 80);
    EXPECT_EQ(to("http://localhost").path, "/");
    EXPECT_EQ(to("http://[::1]:9/x?y=z").host, "::1");
    EXPECT_EQ(to("http://[::1]:9/x?y=z").host_field, "[::1]:9");
    EXPECT_EQ(to("http://[::1]:9/x?y=z").path, "/x?y=z");
    EXPECT_EQ(to("unix:/a").path, "/mcp");
    EXPECT_FALSE(to("http://h/x").secure);
    EXPECT_TRUE(to("https://h/x").secure);
    EXPECT_EQ(to("https://h/x").port, 443);
    EXPECT_EQ(to("https://h:8443/x").port, 8443);
    EXPECT_EQ(to("https://h:8443/x").host_field, "h:8443");
}

TEST(options, faults_are_one_line_that_names_them) {
    const std::pair<std::vector<std::string>, const char*> cases[] = {
        {{}, "TARGET"},
        {{"ftp://x"}, "ftp://x"},
        {{"https://"}, "no host"},
        {{where, "--cacert", "x"}, "for https"},
        {{where, "-k"}, "for https"},
        {{where, "tls-full"}, "only for https"},
        {{"https://x/mcp", "--cert", "x"}, "one needs the other"},
        {{"https://x/mcp", "--key", "x"}, "one needs the other"},
        {{"https://x/mcp", "tls-resumed", "--tool", "x"}, "--tool"},
        {{"http://"}, "no host"},
        {{"http://user@host/"}, "a user or a password"},
        {{"http:///x"}, "no host"},
        {{"http://host:99999/"}, "no host"},
        {{"http://host/a b"}, "blanks"},
        {{"unix:"}, "unix:"},
        {{"unix:" + std::string(200, 'x')}, "too long"},
        {{where, "dance"}, "dance"},
        {{where, "ping", "more"}, "more"},
        {{where, "--no-such"}, "--no-such"},
        {{where, "tools/call"}, "--tool"},
        {{where, "ping", "--tool", "x"}, "--tool"},
        {{where, "tools/call", "--tool", "x", "--arguments", "[1]"}, "--arguments"},
        {{where, "tools/call", "--tool", "x", "--arguments", "{"}, "--arguments"},
        {{where, "tools/call", "--tool", "x", "--arguments", "@/no/such"}, "/no/such"},
        {{where, "-r", "2023-11-05"}, "--revision"},
        {{where, "rounds", "--tool", "x", "-r", "2025-11-25"}, "rounds"},
        {{where, "tasks", "--tool", "x", "-r", "2025-06-18"}, "tasks"},
        {{where, "listen", "--tool", "x", "-r", "2025-11-25"}, "listen"},
        {{"listen", "--tool", "x", "--", "stdio", "x"}, "listen"},
        {{where, "session-churn"}, "session-churn"},
        {{where, "session-churn", "-r", "2024-11-05"}, "session-churn"},
        {{"session-churn", "-r", "2025-11-25", "--", "stdio", "x"}, "session-churn"},
        {{where, "progress"}, "--tool"},
        {{where, "mixed"}, "--tool"},
        {{where, "--seed", "x"}, "--seed"},
        {{where, "--poll", "5"}, "--poll"},
        {{"--", "stdio"}, "stdio"},
        {{"--", "pipes", "x"}, "stdio"},
        {{where, "-c", "0"}, "--connections"},
        {{where, "-c", "-1"}, "--connections"},
        {{where, "-c", "many"}, "--connections"},
        {{where, "-c", "100001"}, "--connections"},
        {{where, "--rate", "0"}, "--rate"},
        {{where, "--rate", "1e9"}, "--rate"},
        {{where, "--rate", "5..", "-d", "1s"}, "--rate"},
        {{where, "--rate", "5..9", "-n", "7"}, "--duration"},
        {{where, "--rate", "5,9", "-c", "1,2"}, "one list"},
        {{where, "--find-ceiling", "--slo", "p99 < 5ms", "-c", "1,2"}, "--find-ceiling"},
        {{where, "-d", "10"}, "--duration"},
        {{where, "-d", "0s"}, "--duration"},
        {{where, "--warm-up", "x"}, "--warm-up"},
        {{where, "--timeout", "0s"}, "--timeout"},
        {{where, "-n", "0"}, "--requests"},
        {{where, "--io", "magic"}, "--io"},
        {{where, "--unchecked", "--expect", "x"}, "--expect"},
        {{where, "--unchecked", "progress", "--tool", "x"}, "--unchecked"},
        {{where, "--unchecked", "-r", "2024-11-05"}, "--unchecked"},
        {{"--unchecked", "--", "stdio", "x"}, "--unchecked"},
        {{where, "--assert", "p42 < 5ms"}, "p42"},
        {{where, "--assert", "p99 < 5"}, "p99 < 5"},
        {{where, "--find-ceiling"}, "--slo"},
        {{where, "--slo", "p99 < 5ms"}, "--find-ceiling"},
        {{where, "--find-ceiling", "--slo", "p99 < 5ms", "--rate", "5"}, "--find-ceiling"},
        {{where, "--find-ceiling", "--slo", "p99"}, "--slo"},
        {{where, "-H", "nonsense"}, "--header"},
        {{where, "-H", "Host: x"}, "--header"},
        {{"compare", "a.json"}, "AFTER"},
        {{"compare", "a", "b", "--fail-above", "x"}, "--fail-above"},
    };
    for (const auto& [words, named] : cases) {
        const understood out = parse_words(words);
        EXPECT_EQ(out.read.what, command::nothing) << named;
        EXPECT_EQ(out.read.exit_code, 2) << named;
        EXPECT_TRUE(out.errors.starts_with("pillion-bench: ")) << out.errors;
        EXPECT_NE(out.errors.find(named), std::string::npos) << named << " not in " << out.errors;
        EXPECT_EQ(out.errors.find('\n'), out.errors.size() - 1) << out.errors;
    }
}

TEST(options, arguments_from_a_file_become_one_line) {
    const auto file = std::filesystem::temp_directory_path() / "pillion_bench_options_test.json";
    std::ofstream(file) << "{\n  \"text\": \"a\\nb\"\n}\n";
    const options read =
        parse_words({where, "tools/call", "--tool", "x", "--arguments", "@" + file.string()}).read;
    EXPECT_EQ(read.run.what.questions[0].arguments, R"({"text":"a\nb"})");
    std::filesystem::remove(file);
}

// A token in -H is in the list of processes for all to see.
TEST(options, headers_from_a_file) {
    const auto file = std::filesystem::temp_directory_path() / "pillion_bench_headers_test";
    const auto read_from = [&](const std::string& text) {
        std::ofstream(file, std::ios::trunc) << text;
        return parse_words({where, "-H", "A: b", "-H", "@" + file.string(), "-H", "E: f"});
    };
    const std::vector<std::string> all{"A: b", "Authorization: Bearer x", "C: d", "E: f"};
    EXPECT_EQ(read_from("Authorization: Bearer x\r\n\nC: d").read.run.what.headers, all);
    EXPECT_NE(read_from("").errors.find("is empty"), std::string::npos);
    for (const char* const bad : {"A: b\nHost: x\n", "secret\n"}) {
        const understood out = read_from(bad);
        EXPECT_EQ(out.read.exit_code, 2) << bad;
        EXPECT_TRUE(out.errors.starts_with("pillion-bench: --header: not ")) << out.errors;
        EXPECT_EQ(out.errors.find("secret"), std::string::npos) << out.errors;
    }
    EXPECT_NE(read_from(std::string(70'000, 'x')).errors.find("--header: "), std::string::npos);
    std::filesystem::remove(file);
    const understood none = parse_words({where, "-H", "@" + file.string()});
    EXPECT_NE(none.errors.find(file.string()), std::string::npos) << none.errors;
    EXPECT_EQ(parse_words({where, "-H", "A: b\nC: d"}).read.exit_code, 2);
}

TEST(options, compare) {
    const options read = parse_words({"compare", "a", "b", "--fail-above", "10%"}).read;
    ASSERT_EQ(read.what, command::compare);
    EXPECT_EQ(read.compare.before, "a");
    EXPECT_EQ(read.compare.after, "b");
    EXPECT_DOUBLE_EQ(read.compare.fail_above, 0.1);
    EXPECT_LT(parse_words({"compare", "a", "b"}).read.compare.fail_above, 0);
}

}  // namespace
}  // namespace pillion::load
