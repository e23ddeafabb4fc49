// Goal: the Host and Origin rules that keep DNS rebinding out.

#include "http/origin.hpp"

#include <gtest/gtest.h>

namespace pillion::http {
namespace {

using list = std::vector<std::string>;

TEST(origin, loopback_bind_answers_to_loopback_names_with_any_port) {
    const origin_policy policy("127.0.0.1", 8080, true, list{});
    for (const char* good : {"localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.0.0.1:1",
                             "[::1]:8080", "[::1]", "localhost:"}) {
        EXPECT_TRUE(policy.host_allowed(good)) << good;
    }
    for (const char* bad :
         {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
          "127.0.0.2", "0.0.0.0:8080", "", "localhost:x", "localhost:99999",
          "localhost@evil.example", "[::1", "[::2]", "xlocalhost"}) {
        EXPECT_FALSE(policy.host_allowed(bad)) << bad;
    }
}

TEST(origin, other_loopback_addresses) {
    EXPECT_TRUE(origin_policy("127.0.0.2", 1, true, list{}).host_allowed("127.0.0.2:1"));
    // However it is spelled.
    EXPECT_FALSE(origin_policy("::ffff:127.0.0.1", 1, true, list{}).host_allowed("evil.example"));
}

TEST(origin, public_bind_takes_any_host_until_names_are_configured) {
    EXPECT_TRUE(origin_policy("0.0.0.0", 80, false, list{}).host_allowed("any.example:1234"));
    EXPECT_FALSE(origin_policy("0.0.0.0", 80, false, list{}).host_allowed("any example"));
    const origin_policy named("10.0.0.1", 80, false, list{"https://app.example"},
                              list{"mcp.example", "other.example:8443"});
    for (const char* good : {"mcp.example", "MCP.example:99", "other.example:8443", "app.example",
                             "10.0.0.1", "localhost:80"}) {
        EXPECT_TRUE(named.host_allowed(good)) << good;
    }
    for (const char* bad : {"any.example", "other.example", "other.example:1", "10.0.0.2"}) {
        EXPECT_FALSE(named.host_allowed(bad)) << bad;
    }
}

// Somebody wanted a rule: one that nothing passes is safer than none.
TEST(origin, names_that_are_none_do_not_open_a_public_bind) {
    const origin_policy policy("0.0.0.0", 80, false, list{},
                               list{"https://mcp.example", "*.example"});
    EXPECT_FALSE(policy.host_allowed("evil.example"));
    EXPECT_FALSE(policy.host_allowed("mcp.example"));
    EXPECT_TRUE(policy.host_allowed("localhost"));
}

TEST(origin, a_host_without_port_has_the_usual_one) {
    const origin_policy policy("0.0.0.0", 8080, false, list{},
                               list{"plain.example:80", "secure.example:443"});
    for (const char* good : {"plain.example", "plain.example:80",
                             "plain.example:", "secure.example", "secure.example:443"}) {
        EXPECT_TRUE(policy.host_allowed(good)) << good;
    }
    for (const char* bad : {"plain.example:443", "secure.example:80", "secure.example:8080"}) {
        EXPECT_FALSE(policy.host_allowed(bad)) << bad;
    }
}

TEST(origin, own_origins) {
    const origin_policy policy("127.0.0.1", 8080, true, list{});
    for (const char* good : {"http://localhost:8080", "https://LocalHost:8080",
                             "HTTP://127.0.0.1:8080", "http://[::1]:8080"}) {
        EXPECT_TRUE(policy.origin_allowed(good)) << good;
    }
    for (const char* bad :
         {"http://localhost", "http://localhost:8081", "http://evil.example:8080", "null", "", "*",
          "http://localhost:8080/", "http://localhost:8080 http://evil.example", "localhost:8080",
          "ws://localhost:8080", "http://user@localhost:8080", "://localhost:8080",
          "http://localhost:8080.evil.example", "http://localhost:08080x"}) {
        EXPECT_FALSE(policy.origin_allowed(bad)) << bad;
    }
    EXPECT_TRUE(origin_policy("10.0.0.1", 80, false, list{}).origin_allowed("http://10.0.0.1"));
    EXPECT_TRUE(origin_policy("10.0.0.1", 443, false, list{}).origin_allowed("https://10.0.0.1"));
    EXPECT_FALSE(origin_policy("10.0.0.1", 443, false, list{}).origin_allowed("http://10.0.0.1"));
}

TEST(origin, listed_origins_compare_normalised) {
    const origin_policy policy("127.0.0.1", 8080, true,
                               list{"https://App.Example", "http://dev.example:80",
                                    "vscode-webview://abc-1", "not an origin"});
    for (const char* good : {"https://app.example", "HTTPS://APP.EXAMPLE:443", "http://dev.example",
                             "http://dev.example:80", "vscode-webview://abc-1"}) {
        EXPECT_TRUE(policy.origin_allowed(good)) << good;
    }
    for (const char* bad :
         {"http://app.example", "https://app.example:444", "https://sub.app.example",
          "https://dev.example", "vscode-webview://abc-2", "vscode-webview://abc-1:1", "null",
          "not an origin"}) {
        EXPECT_FALSE(policy.origin_allowed(bad)) << bad;
    }
}

TEST(origin, null_and_star_only_when_listed) {
    const origin_policy null_listed("127.0.0.1", 1, true, list{"null"});
    EXPECT_TRUE(null_listed.origin_allowed("null"));
    EXPECT_FALSE(null_listed.origin_allowed("http://evil.example"));
    const origin_policy star("127.0.0.1", 1, true, list{"*"});
    EXPECT_TRUE(star.origin_allowed("null"));
    EXPECT_TRUE(star.origin_allowed("http://any.example"));
    EXPECT_FALSE(star.host_allowed("any.example"));
}

TEST(origin, entries_are_checkable) {
    for (const char* good :
         {"*", "null", "https://a", "http://[::1]:1", "chrome-extension://abc"}) {
        EXPECT_TRUE(is_valid_origin_entry(good)) << good;
    }
    for (const char* bad :
         {"", "a", "https://", "https://a/", "https://*.a", "http://a:b", "://a"}) {
        EXPECT_FALSE(is_valid_origin_entry(bad)) << bad;
    }
    for (const char* good : {"a", "a.example:8080", "127.0.0.1", "[::1]:1"}) {
        EXPECT_TRUE(is_valid_host_entry(good)) << good;
    }
    for (const char* bad : {"", "https://a", "a/", "*", "*.a", "a:b", "::1", "m\xc3\xbcnchen"}) {
        EXPECT_FALSE(is_valid_host_entry(bad)) << bad;
    }
}

}  // namespace
}  // namespace pillion::http
