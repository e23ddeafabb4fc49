#include "client/url.hpp"

#include <gtest/gtest.h>

namespace pillion::client {
namespace {

url parsed(std::string_view text) {
    std::string fault;
    const auto made = parse_url(text, fault);
    EXPECT_TRUE(made) << text << ": " << fault;
    return made ? *made : url();
}

TEST(url, its_parts) {
    const url one = parsed("https://Auth.Example:8443/a/b?c=d&e");
    EXPECT_TRUE(one.secure);
    EXPECT_EQ(one.host, "auth.example");
    EXPECT_EQ(one.authority, "auth.example:8443");
    EXPECT_EQ(one.port, 8443);
    EXPECT_EQ(one.target, "/a/b?c=d&e");
    EXPECT_EQ(parsed("https://h").port, 443);
    EXPECT_EQ(parsed("HTTP://h").port, 80);
    EXPECT_EQ(parsed("https://h").target, "/");
    EXPECT_EQ(parsed("https://h?x=1").target, "/?x=1");
    EXPECT_EQ(parsed("https://h:/p").port, 443);
    const url six = parsed("http://[::1]:81/x");
    EXPECT_EQ(six.host, "::1");
    EXPECT_EQ(six.authority, "[::1]:81");
    EXPECT_EQ(six.port, 81);
}

TEST(url, what_is_none) {
    for (const std::string text : {"",
                                   "h",
                                   "/p",
                                   "ftp://h/",
                                   "https:/h",
                                   "https://",
                                   "https:///p",
                                   "https://:1/",
                                   "//h/",
                                   "https://u@h/",
                                   "https://u:p@h/",
                                   "https://h/#f",
                                   "https://h#f",
                                   "https://h/ p",
                                   "https://h/\r\nX: y",
                                   "https://h\t/",
                                   "https://h:0/",
                                   "https://h:65536/",
                                   "https://h:x/",
                                   "https://[::1/",
                                   "https://[v1.x]/",
                                   "https://[:::]/",
                                   "https://h_\x01/",
                                   "https://h%41/",
                                   "https://h,i/",
                                   "https://h/\x80",
                                   " https://h/"}) {
        std::string fault;
        EXPECT_FALSE(parse_url(text, fault)) << text;
        EXPECT_FALSE(fault.empty());
        EXPECT_EQ(fault.find("u:p"), fault.npos);
    }
    std::string fault;
    EXPECT_FALSE(parse_url("https://h/" + std::string(url::bytes_max, 'x'), fault));
}

TEST(url, what_stays_on_this_machine) {
    for (const auto* text : {"http://localhost/", "http://LOCALHOST:1", "http://127.0.0.1/",
                             "http://127.255.0.9/", "http://[::1]/"}) {
        EXPECT_TRUE(parsed(text).is_loopback()) << text;
        EXPECT_TRUE(parsed(text).is_private());
    }
    for (const auto* text : {"http://localhost.example/", "http://127.0.0.1.example/",
                             "http://10.0.0.1/", "http://[::2]/", "http://128.0.0.1/",
                             "http://2130706433/", "http://127.1/", "http://0.0.0.0/"}) {
        EXPECT_FALSE(parsed(text).is_loopback()) << text;
        EXPECT_FALSE(parsed(text).is_private());
    }
    EXPECT_TRUE(parsed("https://10.0.0.1/").is_private());
}

TEST(url, a_reference) {
    const url base = parsed("http://h:81/a/b?c=d");
    const struct {
        std::string reference;
        std::string authority;
        std::string target;
    } cases[] = {
        {"/m?s=1", "h:81", "/m?s=1"}, {"m?s=1", "h:81", "/a/m?s=1"}, {"?s=1", "h:81", "/a/b?s=1"},
        {"http://i/x", "i", "/x"},    {"//i:82/x", "i:82", "/x"},
    };
    for (const auto& one : cases) {
        std::string fault;
        const auto made = resolve_url(base, one.reference, fault);
        ASSERT_TRUE(made) << one.reference << ": " << fault;
        EXPECT_EQ(made->authority, one.authority) << one.reference;
        EXPECT_EQ(made->target, one.target) << one.reference;
        EXPECT_EQ(made->has_origin_of(base), one.authority == "h:81");
    }
    std::string fault;
    EXPECT_FALSE(resolve_url(base, "/a b", fault));
    EXPECT_FALSE(resolve_url(base, "//u@h/", fault));
    EXPECT_FALSE(parsed("https://h:81/").has_origin_of(base));
    EXPECT_TRUE(parsed("https://h/").has_origin_of(parsed("HTTPS://H:443/x")));
}

}  // namespace
}  // namespace pillion::client
