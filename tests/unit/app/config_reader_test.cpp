// config_reader: every fault with its line and column, types, variables, and silence about secrets.
#include "app/config_reader.hpp"

#include <gtest/gtest.h>

#include "app/config_keys_tools.hpp"
#include "unit/app/config_cases.hpp"

namespace pillion::app {
namespace {

using testing::config_case;

TEST(config_reader, nothing_given_is_all_defaults) {
    for (const char* const text : {"", "{}", "http:\nlimits: ~\n"}) {
        config_case c;
        EXPECT_EQ(c.read(text).said(), "") << text;
        for (const config_value& value : c.values) {
            EXPECT_FALSE(value.given);
        }
    }
}

TEST(config_reader, values_of_every_type) {
    config_case c;
    EXPECT_EQ(c.read(R"(
http:
  host: localhost
  port: 9000
  allowed_origins: [https://a.example, 'null']
  allowed_hosts: b.example
  legacy_sse: false
server: {threads: auto, io: epoll, drain_timeout: 0s}
limits: {request_timeout: 90s, body: 2MiB, connections: 7}
options: {root: /srv, no_ignore: true}
)")
                  .said(),
              "");
    EXPECT_EQ(c.of(key_id::host).text(), "localhost");
    EXPECT_EQ(c.of(key_id::port).number, 9000);
    EXPECT_EQ(c.of(key_id::allowed_origins).texts,
              (std::vector<std::string>{"https://a.example", "null"}));
    EXPECT_EQ(c.of(key_id::allowed_origins).places[1], (file_place{5, 40}));
    EXPECT_EQ(c.of(key_id::allowed_hosts).texts, std::vector<std::string>{"b.example"});
    EXPECT_TRUE(c.of(key_id::legacy_sse).given);
    EXPECT_EQ(c.of(key_id::legacy_sse).number, 0);
    EXPECT_GE(c.of(key_id::threads).number, 1);
    EXPECT_EQ(c.of(key_id::io).text(), "epoll");
    EXPECT_EQ(c.of(key_id::drain_timeout).number, 0);
    EXPECT_EQ(c.of(key_id::request_timeout).number, 90'000);
    EXPECT_EQ(c.of(key_id::body).number, 2 << 20);
    EXPECT_EQ(c.of(key_id::connections).number, 7);
    EXPECT_FALSE(c.of(key_id::sessions).given);
    EXPECT_EQ(c.values[c.values.size() - 2].text(), "/srv");
    EXPECT_EQ(c.values.back().number, 1);
}

TEST(config_reader, all_faults_at_once_in_the_order_of_the_file) {
    config_case c;
    c.read(R"(http:
  port: 70000
  prot: 8080
  path: mcp
  allowed_origins:
    - https://a.example
    - nonsense
htpp: {}
log:
  level: loud
  level: info
limits: [1]
server:
  threads: "4"
  io: {}
  drain_timeout: 5
options:
  no_ignore: yes
  root: 2024
)");
    EXPECT_EQ(
        c.said(),
        "2:9: http.port: \"70000\" is not a number from 0 to 65535\n"
        "3:3: http: unknown key \"prot\"; there are host, port, listen, path, "
        "allowed_origins, allowed_hosts, unix_users, unix_groups, insecure_no_auth, legacy_sse, "
        "timeout_header, trusted_proxies\n"
        "4:9: http.path: \"mcp\" is not a path that begins with / and holds no blank, ? or "
        "#\n"
        "7:7: http.allowed_origins: \"nonsense\" is not an origin (scheme://host[:port], "
        "null or *)\n"
        "8:1: unknown section \"htpp\"; there are http, tls, auth, server, log, limits, metrics, "
        "rates, "
        "bridge, prompt_files, ready, options, tools, prompts, resources, methods, principals, "
        "upstreams, "
        "servers, openapi, folders\n"
        "10:10: log.level: \"loud\" is not debug, info, warn, error or off\n"
        "11:3: the key \"level\" stands twice\n"
        "12:9: limits: must be a mapping of keys\n"
        "14:12: server.threads: \"4\" is not a number from 1 to 256, or auto\n"
        "15:7: server.io: found a mapping and not auto, uring or epoll\n"
        "16:18: server.drain_timeout: \"5\" is not a duration such as 500ms, 30s, 5m or "
        "2h\n"
        "18:14: options.no_ignore: \"yes\" is not true or false\n"
        "19:9: options.root: \"2024\" is not a text; put it in quotes\n");
}

// Taken without a word they opened the address to pages of every name.
TEST(config_reader, hosts_are_names_and_no_patterns) {
    config_case c;
    EXPECT_EQ(c.read("http: {allowed_hosts: [a.example:80, '[::1]', 'https://a', '*.a']}\n").said(),
              "1:47: http.allowed_hosts: \"https://a\" is not a name or address with an optional "
              "port (host[:port])\n"
              "1:60: http.allowed_hosts: \"*.a\" is not a name or address with an optional port "
              "(host[:port])\n");
}

TEST(config_reader, limits_of_tools) {
    config_case c;
    c.variables["RATE"] = "3";
    c.read("tools:\n  echo: {timeout: 500ms, rate: \"${RATE}\"}\n  \"a b\":\n  x: {queue: 0}\n");
    EXPECT_EQ(c.said(), "");
    ASSERT_EQ(c.values.named.size(), 3U);
    const named_values& echo = c.values.named[0];
    EXPECT_EQ(echo.name, "echo");
    EXPECT_EQ(echo.at, (file_place{2, 3}));
    EXPECT_EQ(echo.values[static_cast<std::size_t>(tool_key::timeout)].number, 500);
    EXPECT_EQ(echo.values[static_cast<std::size_t>(tool_key::rate)].number, 3);
    EXPECT_FALSE(echo.values[static_cast<std::size_t>(tool_key::queue)].given);
    EXPECT_EQ(c.values.named[1].name, "a b");
    const config_value& queue = c.values.named[2].values[static_cast<std::size_t>(tool_key::queue)];
    EXPECT_TRUE(queue.given && queue.number == 0);
}

TEST(config_reader, scopes_of_what_has_a_name) {
    config_case c;
    c.read(
        "tools: {a: {scopes: x}}\nprompts: {a: {scopes: [x, y]}}\n"
        "principals:\n  \"cert:cn:b c\":\n  d: {scopes: []}\n");
    EXPECT_EQ(c.said(), "");
    ASSERT_EQ(c.values.named.size(), 4U);
    EXPECT_EQ(c.values.named[0].values[static_cast<std::size_t>(tool_key::scopes)].texts,
              std::vector<std::string>{"x"});
    EXPECT_EQ(c.values.named[1].section, "prompts");
    EXPECT_EQ(c.values.named[1].values.front().texts, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(c.values.named[2].name, "cert:cn:b c");
    // No scopes, and none said.
    EXPECT_FALSE(c.values.named[2].values.back().given);
    EXPECT_TRUE(c.values.named[3].values.back().given);
}

TEST(config_reader, faults_of_limits_of_tools) {
    config_case c;
    c.read("tools:\n  echo: {rat: 1, rate: -1, timeout: 0s}\n  \"a\\nb\": {queue: many}\n  x: 1\n");
    EXPECT_EQ(c.said(),
              "2:10: tools.echo: unknown key \"rat\"; there are timeout, concurrent, queue, rate, "
              "rate_burst, scopes, icons, risk, side_effects, external, title, description, input, "
              "output, read_only, destructive, "
              "idempotent, open_world, deprecated, instead, command, http\n"
              "2:24: tools.echo.rate: \"-1\" is not a number from 0 to 1000000\n"
              "2:37: tools.echo.timeout: \"0s\" is not a duration such as 500ms, 30s, 5m or 2h, "
              "and not 0\n"
              "3:19: tools.\"a?b\".queue: \"many\" is not a number from 0 to 1000000\n"
              "4:6: tools.x: must be a mapping of keys\n");
    EXPECT_EQ(c.read("tools: [echo]\n").said(), "1:8: tools: must be a mapping of tools\n");
    EXPECT_EQ(c.read("tools:\n").said(), "");
}

TEST(config_reader, a_configuration_is_a_mapping) {
    config_case c;
    EXPECT_EQ(c.read("- a\n").said(), "1:1: a configuration is a mapping of sections\n");
    EXPECT_EQ(c.read("http\n").said(), "1:1: a configuration is a mapping of sections\n");
}

TEST(config_reader, one_way_to_say_where_to_listen) {
    config_case c;
    EXPECT_EQ(c.read("http:\n  port: 1\n  listen: 127.0.0.1:2\n").said(),
              "3:11: http.listen: stands instead of http.host and http.port, not beside them\n");
    EXPECT_EQ(c.read("http: {listen: nonsense}").said(),
              "1:16: http.listen: \"nonsense\" is not [http[s]://]host:port, unix:/path or fd:N\n");
}

TEST(config_reader, integers_in_every_spelling) {
    for (const char* const text : {"8080", "+8080", "0x1f90", "0o17620", "8080.0", "8.08e3"}) {
        config_case c;
        EXPECT_EQ(c.read("http: {port: " + std::string(text) + "}").said(), "") << text;
        EXPECT_EQ(c.of(key_id::port).number, 8080) << text;
    }
    for (const char* const text : {"8080.5", "1e99", "99999999999999999999", "-1", "''", "~", "0x",
                                   ".inf", "'8080'", "eighty", "[80]"}) {
        config_case c;
        EXPECT_FALSE(c.read("http: {port: " + std::string(text) + "}").faults.empty()) << text;
    }
}

TEST(config_reader, variables_stand_for_values_of_any_type) {
    config_case c;
    c.variables = {{"PORT", "9001"}, {"OFF", "false"}, {"ORIGIN", "https://a.example"}};
    EXPECT_EQ(c.read("http: {port: \"${PORT}\", legacy_sse: \"${OFF}\", allowed_origins: "
                     "[\"${ORIGIN}:${NONE:-444}\"]}\nlimits: {body: \"${SIZE:-3}MiB\"}\n")
                  .said(),
              "");
    EXPECT_EQ(c.of(key_id::port).number, 9001);
    EXPECT_EQ(c.of(key_id::legacy_sse).number, 0);
    EXPECT_EQ(c.of(key_id::allowed_origins).text(), "https://a.example:444");
    EXPECT_EQ(c.of(key_id::body).number, 3 << 20);
}

TEST(config_reader, what_a_variable_held_is_never_shown) {
    config_case c;
    c.variables = {{"TOKEN", "hunter2"}};
    c.read(
        "http:\n  port: ${TOKEN}\n  path: \"${TOKEN}\"\n  listen: [\"x${TOKEN}\"]\n"
        "log: {level: \"${TOKEN}\"}\nlimits: {body: \"${TOKEN}\"}\nserver: {threads: "
        "\"${TOKEN}\", io: \"${GONE}\"}\n");
    EXPECT_EQ(c.faults.size(), 7U) << c.said();
    EXPECT_EQ(c.said().find("hunter2"), std::string::npos);
    EXPECT_NE(c.said().find("2:9: http.port: the value is not a number"), std::string::npos);
    EXPECT_NE(c.said().find("7:35: server.io: the variable GONE is not set"), std::string::npos);
}

TEST(config_reader, a_secret_is_never_shown) {
    for (const char* const text : {"[hunter2]", "{hunter2: 1}", "0x4242", "424242", "''"}) {
        config_case c;
        c.read("server: {state_keys: " + std::string(text) + "}");
        EXPECT_EQ(c.faults.size(), 1U) << text;
        EXPECT_EQ(c.said().find("hunter2"), std::string::npos) << text;
        EXPECT_EQ(c.said().find("4242"), std::string::npos) << text;
    }
}

TEST(config_reader, an_editor_s_schema_line_is_let_pass) {
    config_case c;
    EXPECT_EQ(c.read(R"({"$schema": "./pillion.schema.json", "http": {"port": 1}})").said(), "");
    EXPECT_EQ(c.read(R"({"$schema": 1})").said(), "1:13: $schema: must be a text\n");
}

TEST(config_reader, faults_are_bounded) {
    std::string text = "http:\n";
    for (int i = 0; i < 1000; ++i) {
        text += "  k" + std::to_string(i) + ": 1\n";
    }
    config_case c;
    EXPECT_EQ(c.read(text).faults.size(), 100U);
}

}  // namespace
}  // namespace pillion::app
