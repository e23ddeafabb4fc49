// proxies: networks, and what the last hop says.
#include "http/proxies.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "http/request_parser.hpp"
#include "padded.hpp"

namespace pillion::http {
namespace {

using testing::padded;

bool trusts(std::string_view list, std::string_view peer) {
    proxy_list made;
    EXPECT_TRUE(proxy_list::is_valid(list)) << list;
    made.add(list);
    EXPECT_FALSE(made.empty());
    return made.trusts(peer);
}

TEST(proxies, addresses_and_networks) {
    EXPECT_TRUE(trusts("10.1.2.3", "10.1.2.3"));
    EXPECT_FALSE(trusts("10.1.2.3", "10.1.2.4"));
    EXPECT_TRUE(trusts("10.0.0.0/8", "10.255.255.255"));
    EXPECT_FALSE(trusts("10.0.0.0/8", "11.0.0.0"));
    EXPECT_FALSE(trusts("10.0.0.0/8", "::1"));
    EXPECT_TRUE(trusts("2001:db8::/32", "2001:db8:ffff::1"));
    EXPECT_FALSE(trusts("2001:db8::/32", "2001:db9::1"));
    EXPECT_TRUE(trusts("fe80::/10", "fe80::1%eth0"));
    EXPECT_TRUE(trusts("::/0", "10.1.2.3"));
    EXPECT_TRUE(trusts("0.0.0.0/0", "10.1.2.3"));
    EXPECT_FALSE(trusts("0.0.0.0/0", "2001:db8::1"));
    EXPECT_TRUE(trusts("unix", ""));
    EXPECT_FALSE(trusts("unix", "127.0.0.1"));
    EXPECT_FALSE(trusts("0.0.0.0/0", ""));
    EXPECT_FALSE(trusts("::/0", "stdio"));
    EXPECT_FALSE(proxy_list().trusts("127.0.0.1"));
    EXPECT_FALSE(proxy_list().trusts(""));
}

// Each length of a prefix, with addresses that differ in its last bit and in the one behind.
TEST(proxies, every_prefix_to_the_bit) {
    for (unsigned bits = 1; bits <= 32; ++bits) {
        const std::string list = "0.0.0.0/" + std::to_string(bits);
        const auto with_bit = [](unsigned bit) {
            const std::uint32_t word = std::uint32_t{1} << (31 - bit);
            return std::to_string(word >> 24) + "." + std::to_string(word >> 16 & 255) + "." +
                   std::to_string(word >> 8 & 255) + "." + std::to_string(word & 255);
        };
        EXPECT_FALSE(trusts(list, with_bit(bits - 1))) << bits;
        if (bits < 32) {
            EXPECT_TRUE(trusts(list, with_bit(bits))) << bits;
        }
    }
}

TEST(proxies, what_is_no_network) {
    for (const char* const text :
         {"", "a", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "/8",
          "10.0.0.0/8/8", "[::1]", "unix:", "1.2.3.4:80"}) {
        EXPECT_FALSE(proxy_list::is_valid(text)) << text;
    }
}

// "SCHEME HOST ADDRESS" of the last hop, - for what it does not say.
std::string told(const std::string& fields) {
    padded bytes("GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
    request_head head;
    EXPECT_EQ(parse_request_head(bytes.data(), bytes.size(), 0, head).state, parse_state::complete);
    const forwarded out = forwarded_of(head);
    const auto shown = [](std::string_view text) {
        return text.empty() ? std::string("-") : std::string(text);
    };
    return shown(out.scheme) + " " + shown(out.host) + " " + shown(out.address);
}

TEST(proxies, the_last_hop_of_x_forwarded) {
    EXPECT_EQ(told(""), "- - -");
    EXPECT_EQ(told("X-Forwarded-Proto: HTTPS\r\n"), "https - -");
    EXPECT_EQ(told("X-Forwarded-Proto: https, http\r\n"), "http - -");
    EXPECT_EQ(told("X-Forwarded-Proto: wss\r\n"), "- - -");
    EXPECT_EQ(told("X-Forwarded-Host: b.example:8443\r\n"), "- b.example:8443 -");
    EXPECT_EQ(told("X-Forwarded-Host: a\"b\r\n"), "- - -");
    EXPECT_EQ(told("X-Forwarded-Host: a/b\r\n"), "- - -");
    EXPECT_EQ(told("X-Forwarded-Host: \r\n"), "- - -");
    EXPECT_EQ(told("X-Forwarded-Host: a\r\nX-Forwarded-Host: b\r\n"), "- - -");
    EXPECT_EQ(told("X-Forwarded-For: 10.0.0.1, 192.0.2.7\r\n"), "- - 192.0.2.7");
    EXPECT_EQ(told("X-Forwarded-Host: " + std::string(262, 'a') + "\r\n"), "- - -");
}

TEST(proxies, the_last_hop_of_forwarded) {
    EXPECT_EQ(told("Forwarded: for=192.0.2.7;proto=https;host=b.example\r\n"),
              "https b.example 192.0.2.7");
    EXPECT_EQ(told("Forwarded: host=x, For=\"[2001:db8::7]:80\" ; PROTO=\"http\"\r\n"),
              "http - 2001:db8::7");
    EXPECT_EQ(told("Forwarded: for=192.0.2.7:80\r\n"), "- - 192.0.2.7");
    EXPECT_EQ(told("Forwarded: for=\"[x\r\n"), "- - \"[x");
    EXPECT_EQ(told("Forwarded: \r\nX-Forwarded-Host: b\r\n"), "- - -");
    EXPECT_EQ(told("Forwarded: host=a\r\nForwarded: host=b\r\nX-Forwarded-Host: c\r\n"), "- - -");
    EXPECT_EQ(told("Forwarded: ;;=;host;proto=\r\n"), "- - -");
}

// Who a request comes from, behind 10.0.0.0/8 and unix sockets.
std::string client(const std::string& fields, std::string_view peer = "10.0.0.1") {
    proxy_list trusted;
    trusted.add("10.0.0.0/8");
    trusted.add("unix");
    padded bytes("GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
    request_head head;
    EXPECT_EQ(parse_request_head(bytes.data(), bytes.size(), 0, head).state, parse_state::complete);
    return std::string(trusted.client_of(head, peer));
}

TEST(proxies, the_last_hop_that_is_none) {
    EXPECT_EQ(client(""), "10.0.0.1");
    EXPECT_EQ(client("X-Forwarded-For: 192.0.2.7\r\n"), "192.0.2.7");
    EXPECT_EQ(client("X-Forwarded-For: 192.0.2.7\r\n", ""), "192.0.2.7");
    EXPECT_EQ(client("X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.1"), "192.0.2.1");
    // What stands before it is what somebody said of himself.
    EXPECT_EQ(client("X-Forwarded-For: 127.0.0.1, 192.0.2.7, 10.9.9.9\r\n"), "192.0.2.7");
    EXPECT_EQ(client("X-Forwarded-For: 10.0.0.3, 10.0.0.2\r\n"), "10.0.0.3");
    EXPECT_EQ(client("X-Forwarded-For: 192.0.2.7, unknown\r\n"), "10.0.0.1");
    EXPECT_EQ(client("X-Forwarded-For: 192.0.2.7, \r\n"), "10.0.0.1");
    EXPECT_EQ(client("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-For: 192.0.2.8\r\n"), "10.0.0.1");
    EXPECT_EQ(client("Forwarded: for=192.0.2.7, for=\"10.0.0.2:99\";proto=https\r\n"), "192.0.2.7");
    EXPECT_EQ(client("Forwarded: for=\"[2001:db8::7]:80\"\r\nX-Forwarded-For: 192.0.2.8\r\n"),
              "2001:db8::7");
    EXPECT_EQ(client("Forwarded: proto=https\r\nX-Forwarded-For: 192.0.2.8\r\n"), "10.0.0.1");
    std::string many = "X-Forwarded-For: 192.0.2.7";
    for (int i = 0; i < 16; ++i) {
        many += ",10.0.0.9";
    }
    EXPECT_EQ(client(many + "\r\n"), "10.0.0.9");  // as far as is looked
}

}  // namespace
}  // namespace pillion::http
