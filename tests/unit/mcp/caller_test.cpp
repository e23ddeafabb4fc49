// Who is charged for a request.
#include "mcp/caller.hpp"

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

std::uint64_t key(std::string_view address) { return caller::at(address).address; }

TEST(caller, this_machine_is_told_from_others) {
    for (const char* here : {"", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
        EXPECT_TRUE(caller::at(here).local) << here;
        EXPECT_NE(caller::at(here).address, 0U) << here;
    }
    for (const char* there : {"10.0.0.1", "128.0.0.1", "::2", "fe80::1%eth0", "::ffff:10.0.0.1"}) {
        EXPECT_FALSE(caller::at(there).local) << there;
        EXPECT_NE(caller::at(there).address, 0U) << there;
    }
}

TEST(caller, an_ipv6_address_stands_for_its_64) {
    EXPECT_EQ(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff:ffff:ffff:ffff"));
    EXPECT_NE(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
    EXPECT_EQ(key("fe80::1%eth0"), key("fe80::1%eth1"));
    EXPECT_EQ(key("::ffff:10.0.0.1"), key("10.0.0.1"));
    EXPECT_NE(key("10.0.0.1"), key("10.0.0.2"));
}

TEST(caller, a_principal_pays_wherever_it_comes_from) {
    caller a = caller::at("10.0.0.1");
    caller b = caller::at("10.0.0.2");
    EXPECT_TRUE(a.anonymous());
    EXPECT_EQ(a.key(), a.address);
    a.set_principal("somebody");
    b.set_principal("somebody");
    EXPECT_FALSE(a.anonymous());
    EXPECT_EQ(a.key(), b.key());
    b.set_principal("somebody else");
    EXPECT_NE(a.key(), b.key());
    // A name that looks like an address is another key than that.
    a.set_principal("10.0.0.1");
    EXPECT_NE(a.key(), a.address);
}

}  // namespace
}  // namespace pillion::mcp
