// user_list: who has a password, and lists that are refused without showing what is in them.
#include "auth/user_list.hpp"

#include <gtest/gtest.h>

namespace pillion::auth {
namespace {

std::string line_of(const std::string& name, std::string_view password) {
    return name + " " + crypto::password_hash::of(password).text() + "\n";
}

TEST(user_list, knows_names_with_their_own_passwords) {
    std::string fault;
    const auto users = user_list::parse(
        "# who\r\n\r\n  " + line_of("ann", "first one") + line_of("ben", "second one"), fault);
    ASSERT_TRUE(users) << fault;
    EXPECT_EQ(users->size(), 2U);
    EXPECT_TRUE(users->knows("ann", "first one"));
    EXPECT_TRUE(users->knows("ben", "second one"));
    EXPECT_FALSE(users->knows("ann", "second one"));
    EXPECT_FALSE(users->knows("cem", "first one"));
    EXPECT_FALSE(users->knows("", ""));
}

TEST(user_list, names) {
    EXPECT_TRUE(user_list::is_name("a"));
    EXPECT_TRUE(user_list::is_name(std::string(128, 'a')));
    for (const std::string& name :
         {std::string(), std::string("#a"), std::string("a:b"), std::string("a b"),
          std::string(129, 'a'), std::string("\xc3")}) {
        EXPECT_FALSE(user_list::is_name(name)) << name;
    }
}

TEST(user_list, what_is_none_names_its_line_only) {
    const std::string good =
        "a pbkdf2-sha256$10000$AAAAAAAAAAAAAAAAAAAAAA$"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
    std::string fault;
    for (const std::string& bad : {good, std::string("b secret-word\n"), std::string("b\n"),
                                   "x:" + good, std::string(1, '\0') + good}) {
        EXPECT_FALSE(user_list::parse(good + bad, fault)) << bad;
        EXPECT_EQ(fault.substr(0, 8), "line 2: ");
        EXPECT_EQ(fault.find("secret-word"), fault.npos);
    }
    EXPECT_FALSE(user_list::parse("", fault));
    EXPECT_FALSE(user_list::parse("#\n\n", fault));
}

}  // namespace
}  // namespace pillion::auth
