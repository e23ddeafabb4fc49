// settings: flags over the file over defaults, what only makes sense together, secrets from files.
#include "app/settings.hpp"

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "unit/app/config_cases.hpp"

namespace pillion::app {
namespace {

using testing::config_case;

constexpr const char* key_text = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

// A file, flags, and the settings they make.
struct settings_case : config_case {
    config_values flags;
    std::string folder;

    settings_case() : flags(keys.size()) {}

    settings_case& flag(key_id id, std::string_view text) {
        config_value& value = flags[static_cast<std::size_t>(id)];
        value.from_flag = true;
        EXPECT_TRUE(parse_value(keys[static_cast<std::size_t>(id)], text, value)) << text;
        return *this;
    }

    settings make(std::string_view text, bool serving = true) {
        read(text);
        EXPECT_EQ(said(), "");
        return make_settings(keys, merged(keys, values, flags), folder, serving, faults);
    }
};

class secret_file {
 public:
    explicit secret_file(std::string_view content) {
        char name[] = "/tmp/pillion-secret-XXXXXX";
        folder_ = ::mkdtemp(name);
        std::ofstream(path(), std::ios::binary) << content;
    }
    ~secret_file() { std::filesystem::remove_all(folder_); }
    const std::string& folder() const { return folder_; }
    std::string path() const { return folder_ + "/keys"; }

 private:
    std::string folder_;
};

TEST(settings, the_environment_names_files_of_secrets) {
    settings_case c;
    const secret_file keys(key_text);
    c.variables = {{"PILLION_STATE_KEYS_FILE", keys.path()}, {"PILLION_API_KEYS_FILE", ""}};
    c.flags = read_environment(c.keys, c.from());
    EXPECT_FALSE(c.flags[static_cast<std::size_t>(key_id::auth_api_keys)].given);
    EXPECT_FALSE(c.make("").random_state_keys);
    EXPECT_EQ(c.said(), "");
    c.variables["PILLION_STATE_KEYS_FILE"] = "/no/such/file";
    c.flags = read_environment(c.keys, c.from());
    c.make("server: {state_keys: 'ignored'}");
    EXPECT_EQ(c.said(), "PILLION_STATE_KEYS_FILE: \"/no/such/file\": it cannot be read\n");
}

// No secret is taken from the command line or the environment itself.
TEST(settings, every_key_of_a_secret_has_a_variable) {
    settings_case c;
    std::size_t named = 0;
    for (const config_key& key : c.keys) {
        named += key.variable.empty() ? 0U : 1U;
        EXPECT_TRUE(key.variable.empty() ||
                    (key.variable.starts_with("PILLION_") && key.variable.ends_with("_FILE")));
        EXPECT_TRUE(key.type != value_type::secret || !key.variable.empty()) << key.path();
    }
    EXPECT_EQ(named, 6U);
}

TEST(settings, users_of_metrics_need_https_or_this_machine) {
    settings_case c;
    const secret_file users(
        "a "
        "pbkdf2-sha256$10000$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n");
    const std::string with_users = "users: '" + users.path() + "'";
    const settings made = c.make("metrics: {listen: '127.0.0.1:9464', " + with_users + "}");
    EXPECT_EQ(c.said(), "");
    EXPECT_NE(made.metrics_users, nullptr);
    EXPECT_TRUE(made.metrics_listen);
    c.make("metrics: {listen: '0.0.0.0:9464', " + with_users + "}");
    EXPECT_NE(c.said().find("passwords"), std::string::npos) << c.said();
    c.make("metrics: {" + with_users + "}");
    EXPECT_NE(c.said().find("needs --metrics-listen"), std::string::npos) << c.said();
}

TEST(settings, defaults_are_those_of_the_table) {
    settings_case c;
    const settings made = c.make("");
    EXPECT_EQ(c.said(), "");
    ASSERT_EQ(made.listen.size(), 1U);
    EXPECT_EQ(made.listen[0].host, "127.0.0.1");
    EXPECT_EQ(made.listen[0].port, 8080);
    // Each default of the table, given in the file, changes nothing.
    std::map<std::string, std::string> sections;
    for (const config_key& key : c.keys) {
        if (!key.fallback.empty() && key.own == nullptr) {
            sections[key.section] += "  " + key.name + ": " + key.fallback + "\n";
        }
    }
    std::string text;
    for (const auto& [section, members] : sections) {
        text += section + ":\n" + members;
    }
    const settings same = c.make(text);
    EXPECT_EQ(same.path, made.path);
    EXPECT_EQ(same.threads, made.threads);
    EXPECT_EQ(same.io, made.io);
    EXPECT_EQ(same.legacy_sse, made.legacy_sse);
    EXPECT_EQ(same.drain_timeout_ms, made.drain_timeout_ms);
    EXPECT_EQ(same.http.connections_max, made.http.connections_max);
    EXPECT_EQ(same.http.head_timeout_ms, made.http.head_timeout_ms);
    EXPECT_EQ(same.http.body_timeout_ms, made.http.body_timeout_ms);
    EXPECT_EQ(same.http.idle_timeout_ms, made.http.idle_timeout_ms);
    EXPECT_EQ(same.http.sse_keepalive_ms, made.http.sse_keepalive_ms);
    EXPECT_EQ(same.service.request_timeout_ms, made.service.request_timeout_ms);
    EXPECT_EQ(same.service.request_timeout_ms_max, made.service.request_timeout_ms_max);
    EXPECT_EQ(same.service.timeout_header, made.service.timeout_header);
    EXPECT_EQ(same.service.task_timeout_ms_max, made.service.task_timeout_ms_max);
    EXPECT_EQ(same.service.grace_ms, made.service.grace_ms);
    EXPECT_EQ(same.service.stragglers_max, made.service.stragglers_max);
    EXPECT_EQ(same.service.result_bytes_max, made.service.result_bytes_max);
    EXPECT_EQ(same.service.kept_result_bytes_max, made.service.kept_result_bytes_max);
    EXPECT_EQ(same.service.kept_result_ms, made.service.kept_result_ms);
    EXPECT_EQ(same.service.request_memory_bytes_max, made.service.request_memory_bytes_max);
    EXPECT_EQ(same.service.session_idle_ms, made.service.session_idle_ms);
    EXPECT_EQ(same.service.sessions_max, made.service.sessions_max);
    EXPECT_EQ(same.service.body_bytes_max, made.service.body_bytes_max);
    EXPECT_EQ(same.service.batch_messages_max, made.service.batch_messages_max);
    EXPECT_EQ(same.service.in_flight_per_pipe_max, made.service.in_flight_per_pipe_max);
}

TEST(settings, limits_that_contradict_each_other_are_refused) {
    settings_case c;
    c.make("limits: {request_timeout: 2h, request_timeout_max: 1h}\n");
    EXPECT_EQ(c.said(),
              "1:52: limits.request_timeout_max: must not be shorter than request_timeout\n");
    EXPECT_EQ(
        settings_case().make("limits: {request_timeout: 2h}\n").service.request_timeout_ms_max,
        2 * 60 * 60 * 1000);
    settings_case m;
    m.make("limits: {request_memory: 1MiB}\n");
    EXPECT_EQ(m.said(),
              "1:26: limits.request_memory: must be at least 8 times limits.body and 2 times "
              "limits.result\n");
}

TEST(settings, flags_win_over_the_file) {
    settings_case c;
    c.flag(key_id::port, "2").flag(key_id::legacy_sse, "true").flag(key_id::request_timeout, "2s");
    const settings made = c.make(
        "http: {port: 1, host: localhost, legacy_sse: false}\n"
        "limits: {request_timeout: 1s, session_ttl: 3s}\n");
    EXPECT_EQ(made.listen[0].host, "localhost");
    EXPECT_EQ(made.listen[0].port, 2);
    EXPECT_TRUE(made.legacy_sse);
    EXPECT_EQ(made.service.request_timeout_ms, 2000);
    EXPECT_EQ(made.service.session_idle_ms, 3000);
}

TEST(settings, a_port_flag_wins_over_addresses_in_the_file) {
    settings_case c;
    c.flag(key_id::port, "2");
    const settings made = c.make("http: {listen: ['127.0.0.1:1', 'unix:/s']}");
    ASSERT_EQ(made.listen.size(), 1U);
    EXPECT_EQ(made.listen[0].port, 2);
}

TEST(settings, other_machines_are_refused_where_the_address_stands) {
    settings_case c;
    c.make("http:\n  listen:\n    - 127.0.0.1:1\n    - 0.0.0.0:2\n");
    ASSERT_EQ(c.faults.size(), 1U);
    EXPECT_EQ(c.faults[0].at, (file_place{4, 7}));
    EXPECT_TRUE(c.faults[0].text.starts_with("http.listen: refusing to serve other machines"));
    c.make("http: {host: 0.0.0.0}");
    EXPECT_EQ(c.faults.at(0).at, (file_place{1, 14}));
    c.make("http: {host: 0.0.0.0, insecure_no_auth: true}");
    EXPECT_EQ(c.said(), "");
    c.flag(key_id::host, "0.0.0.0").make("");
    EXPECT_TRUE(c.said().starts_with("--host: refusing")) << c.said();
    c.make("", false);  // stdio listens nowhere
    EXPECT_EQ(c.said(), "");
}

TEST(settings, state_keys_from_the_file_itself_or_another) {
    const secret_file secret(std::string(key_text) + "\n");
    settings_case c;
    EXPECT_TRUE(c.make("").random_state_keys);
    EXPECT_NE(c.make("").service.state_keys, nullptr);
    for (const std::string& text :
         {"server: {state_keys: \"" + std::string(key_text) + "\"}",
          "server: {state_keys: \"file:" + secret.path() + "\"}",
          std::string("server: {state_keys: file:keys}"),
          std::string("server:\n  state_keys: |\n    # comment\n    ") + key_text + "\n"}) {
        c.folder = secret.folder();
        const settings made = c.make(text);
        EXPECT_EQ(c.said(), "") << text;
        EXPECT_FALSE(made.random_state_keys);
        ASSERT_NE(made.service.state_keys, nullptr);
        EXPECT_EQ(made.service.state_keys->keys(), 1U);
    }
    c.flag(key_id::state_keys, secret.path());
    EXPECT_NE(c.make("server: {state_keys: file:/none}").service.state_keys, nullptr);
    EXPECT_EQ(c.said(), "");
}

TEST(settings, a_bad_secret_is_not_shown) {
    const secret_file secret("hunter2\n");
    for (const std::string& text : {std::string("server: {state_keys: hunter2}"),
                                    "server: {state_keys: \"file:" + secret.path() + "\"}",
                                    std::string("server: {state_keys: \"file:/none/hunter2\"}"),
                                    std::string("server: {state_keys: \"file:${SECRET}\"}")}) {
        settings_case c;
        c.variables["SECRET"] = "/none/hunter2";
        const settings made = c.make(text);
        EXPECT_EQ(made.service.state_keys, nullptr);
        ASSERT_EQ(c.faults.size(), 1U) << text;
        EXPECT_EQ(c.faults[0].at, (file_place{1, 22})) << text;
        EXPECT_EQ(c.said().find("hunter2"), std::string::npos) << c.said();
    }
}

// The names of files that variables held were shown, though none of that may be.
TEST(settings, what_a_variable_held_is_not_shown) {
    settings_case c;
    c.variables["SECRET"] = "hunter2";
    c.make(
        "tls: {cert: plain.pem, key: '${SECRET}.key'}\nauth: {tokens: '/run/${SECRET}/tokens'}\n"
        "prompt_files: {folders: '${SECRET}'}\n");
    EXPECT_EQ(c.said().find("hunter2"), std::string::npos) << c.said();
    EXPECT_EQ(c.said(),
              "3:25: prompt_files.folders: \"the folder\": No such file or directory\n"
              "1:13: tls.cert: \"plain.pem\": it cannot be read\n"
              "1:29: tls.key: the file: it cannot be read\n"
              "2:16: auth.tokens: the file: it cannot be read\n");
}

TEST(settings, what_no_file_says_outlives_a_reload) {
    settings_case c;
    const settings before = c.make("");
    settings next = c.make("");
    keep_fixed(next, before);
    EXPECT_EQ(next.service.tasks, before.service.tasks);
    EXPECT_EQ(next.keys, before.keys);
    // A random key is as good as any, and open questions go on.
    EXPECT_EQ(next.service.state_keys, before.service.state_keys);
}

}  // namespace
}  // namespace pillion::app
