#include "auth/discovery.hpp"

#include <gtest/gtest.h>

namespace pillion::auth {
namespace {

TEST(discovery, where_an_issuer_is_asked) {
    auto urls = discovery_urls("https://i.example");
    EXPECT_EQ(urls[0], "https://i.example/.well-known/openid-configuration");
    EXPECT_EQ(urls[1], "https://i.example/.well-known/oauth-authorization-server");
    EXPECT_EQ(discovery_urls("https://i.example/"), urls);
    urls = discovery_urls("https://i.example:1/a/b");
    EXPECT_EQ(urls[0], "https://i.example:1/a/b/.well-known/openid-configuration");
    EXPECT_EQ(urls[1], "https://i.example:1/.well-known/oauth-authorization-server/a/b");
}

TEST(discovery, a_document_names_its_issuer_exactly) {
    const std::string issuer = "https://i.example";
    const std::string good =
        R"({"issuer":"https://i.example","jwks_uri":"https://i.example/keys","x":[{}]})";
    EXPECT_EQ(read_discovery(good, issuer), "https://i.example/keys");
    EXPECT_FALSE(read_discovery(good, "https://i.example/"));
    for (const std::string bad :
         {"", "[]", "{}", "null", R"({"issuer":"https://i.example"})",
          R"({"issuer":"https://i.example","jwks_uri":7})",
          R"({"issuer":"https://i.example","jwks_uri":""})",
          R"({"issuer":"https://j.example","jwks_uri":"https://i.example/keys"})",
          R"({"jwks_uri":"https://i.example/keys"})"}) {
        EXPECT_FALSE(read_discovery(bad, issuer)) << bad;
    }
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        EXPECT_FALSE(read_discovery(good.substr(0, cut), issuer)) << cut;
    }
    EXPECT_FALSE(read_discovery(good + std::string(discovery_bytes_max, ' '), issuer));
}

}  // namespace
}  // namespace pillion::auth
