#include "auth/identity_cache.hpp"

#include <string>

#include <gtest/gtest.h>

#include "unit/auth/test_clock.hpp"

namespace pillion::auth {
namespace {

using testing::now;

identity_ref who(const std::string& token, credential kind = credential::bearer,
                 std::size_t issuer = SIZE_MAX, std::int64_t good_until_s = now + 60) {
    auto made = std::make_shared<identity>();
    made->principal = "of " + token;
    made->token = token;
    made->kind = kind;
    made->issuer = issuer;
    made->good_until_s = good_until_s;
    return made;
}

std::string nth_token(std::size_t i) { return "token" + std::to_string(i); }

identity_ref bearer(identity_cache& in, const std::string& token, std::int64_t at_s = now) {
    return in.find(token, at_s, credential::bearer);
}

// Two tokens that met in one place pushed each other out, however few there were: one in a thousand
// pairs was refused with the strangers of its address.
TEST(identity_cache, as_many_as_there_are_places_are_all_known) {
    for (const std::size_t places : {1U, 2U, 3U, 1024U}) {
        identity_cache cache(places);
        for (std::size_t i = 0; i < places; ++i) {
            cache.keep(who(nth_token(i)));
        }
        for (int round = 0; round < 2; ++round) {
            for (std::size_t i = 0; i < places; ++i) {
                const identity_ref found = bearer(cache, nth_token(i));
                ASSERT_NE(found, nullptr) << i << " of " << places;
                ASSERT_EQ(found->principal, "of " + nth_token(i));
            }
        }
        EXPECT_EQ(cache.size(), places);
    }
}

TEST(identity_cache, the_one_shown_longest_ago_makes_room) {
    identity_cache cache(3);
    for (const char* const one : {"a", "b", "c"}) {
        cache.keep(who(one));
    }
    EXPECT_NE(bearer(cache, "a"), nullptr);  // b is the oldest now
    cache.keep(who("d"));
    EXPECT_EQ(bearer(cache, "b"), nullptr);
    cache.keep(who("c"));  // again: a is the oldest now, and nobody goes
    EXPECT_EQ(cache.size(), 3U);
    cache.keep(who("e"));
    EXPECT_EQ(bearer(cache, "a"), nullptr);
    for (const char* const one : {"c", "d", "e"}) {
        EXPECT_NE(bearer(cache, one), nullptr) << one;
    }
    EXPECT_EQ(cache.size(), 3U);
}

TEST(identity_cache, a_token_and_a_key_of_the_same_bytes_are_two) {
    identity_cache cache(2);
    cache.keep(who("a", credential::api_key));
    EXPECT_EQ(bearer(cache, "a"), nullptr);
    const identity_ref token = who("a");
    cache.keep(token);
    EXPECT_EQ(bearer(cache, "a"), token);
    ASSERT_NE(cache.find("a", now, credential::api_key), nullptr);
    EXPECT_EQ(cache.find("a", now, credential::api_key)->kind, credential::api_key);
}

TEST(identity_cache, what_is_over_is_not_found_and_is_replaced) {
    identity_cache cache(2);
    cache.keep(who("a", credential::bearer, SIZE_MAX, now + 60));
    EXPECT_NE(bearer(cache, "a", now + 59), nullptr);
    EXPECT_EQ(bearer(cache, "a", now + 60), nullptr);
    const identity_ref later = who("a", credential::bearer, SIZE_MAX, now + 120);
    cache.keep(later);
    EXPECT_EQ(bearer(cache, "a", now + 60), later);
    EXPECT_EQ(cache.size(), 1U);
}

TEST(identity_cache, an_issuer_is_forgotten_and_no_other) {
    identity_cache cache(16);
    for (std::size_t i = 0; i < 12; ++i) {
        cache.keep(who(nth_token(i), credential::bearer, i % 3));
    }
    cache.forget_issuer(1);
    EXPECT_EQ(cache.size(), 8U);
    for (std::size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(bearer(cache, nth_token(i)) != nullptr, i % 3 != 1) << i;
    }
    cache.forget_issuer(7);
    EXPECT_EQ(cache.size(), 8U);
    // Their places are free again.
    for (std::size_t i = 12; i < 20; ++i) {
        cache.keep(who(nth_token(i)));
    }
    EXPECT_EQ(cache.size(), 16U);
    EXPECT_NE(bearer(cache, nth_token(0)), nullptr);
}

}  // namespace
}  // namespace pillion::auth
