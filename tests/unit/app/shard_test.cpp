// What an address means for those who are served there.
#include "app/shard.hpp"

#include <gtest/gtest.h>

namespace pillion::app::testing {
namespace {

// Who needs no token because only this machine gets there must not be got at by pages: both are
// one judgement of the address, however it is spelled.
TEST(shard, an_address_that_needs_no_token_has_the_rule_for_host) {
    for (const char* const text :
         {"127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "[0:0:0:0:0:0:0:1]:80",
          "[::ffff:127.0.0.1]:80", "[::ffff:7f00:1]:80", "localhost:80", "LocalHost:80"}) {
        const auto spec = io::parse_listen_spec(text);
        ASSERT_TRUE(spec) << text;
        EXPECT_TRUE(io::is_loopback(*spec)) << text;
        const http::origin_policy rules = origins_of(80, *spec, settings());
        EXPECT_FALSE(rules.host_allowed("evil.example")) << text;
        EXPECT_TRUE(rules.host_allowed("localhost")) << text;
    }
    EXPECT_TRUE(origins_of(80, *io::parse_listen_spec("[::]:80"), settings()).host_allowed("a.b"));
}

}  // namespace
}  // namespace pillion::app::testing
