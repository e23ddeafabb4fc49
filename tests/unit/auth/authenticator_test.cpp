#include "auth/authenticator.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "crypto/base64url.hpp"
#include "crypto/key_ring.hpp"
#include "crypto/signing_key.hpp"
#include "unit/auth/test_clock.hpp"

namespace pillion::auth {
namespace {

using crypto::signing_key;

using testing::now;

signing_key& key() {
    static const auto one = signing_key::new_p256();
    return *one;
}

std::string token_of(const std::string& subject, std::int64_t expires_s,
                     const std::string& more = "") {
    const std::string text =
        crypto::to_base64url(R"({"alg":"ES256","kid":"k"})") + "." +
        crypto::to_base64url(R"({"iss":"https://i.example","aud":"us","iat":1,"sub":")" + subject +
                             R"(","exp":)" + std::to_string(expires_s) + more + "}");
    return text + "." + crypto::to_base64url(key().sign(text));
}

std::string hex_digest(std::string_view token) {
    std::string out;
    for (const unsigned char byte : crypto::sha256(token)) {
        constexpr char digits[] = "0123456789abcdef";
        out += digits[byte / 16];
        out += digits[byte % 16];
    }
    return out;
}

const std::string secret = "0123456789abcdef0123456789abcdef";

std::unique_ptr<authenticator> make(bool with_list = false) {
    auth_options options;
    options.issuers.push_back(
        {{"https://i.example", {"us"}}, "{\"keys\":[" + key().jwk("k") + "]}"});
    std::string fault;
    if (with_list) {
        auto list = token_list::parse("ci " + hex_digest(secret) + " tools:call\n", fault);
        EXPECT_TRUE(list) << fault;
        options.tokens = std::make_shared<const token_list>(std::move(*list));
    }
    std::size_t index = 0;
    auto made = authenticator::make(options, fault, index);
    EXPECT_NE(made, nullptr) << fault;
    return made;
}

TEST(authenticator, a_token_is_judged_once_and_known_from_then_on) {
    const auto a = make();
    const std::string token = token_of("alice", now + 3600, R"(,"scope":"x y")");
    const auto first = a->check(token, now);
    ASSERT_NE(first.who, nullptr);
    EXPECT_EQ(first.who->principal, "https://i.example|alice");
    EXPECT_EQ(first.who->scopes, "x y");
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(a->check(token, now + 599).who, first.who);
    }
    EXPECT_EQ(a->judged(), 1U);
    EXPECT_EQ(a->known(), 100U);
    EXPECT_EQ(a->recall(token, now + 599), first.who);
    EXPECT_EQ(a->recall(token, now + 600), nullptr);
    EXPECT_EQ(a->recall(token, now, credential::api_key), nullptr);
    EXPECT_EQ(a->recall(token + "x", now), nullptr);
    EXPECT_EQ(a->known(), 101U);
    // After ten minutes it is looked at again.
    EXPECT_NE(a->check(token, now + 600).who, first.who);
    EXPECT_EQ(a->judged(), 2U);
}

TEST(authenticator, a_key_is_no_token_and_a_token_no_key) {
    auth_options options;
    std::string fault;
    auto list = token_list::parse("ci " + hex_digest(secret) + " tools:call\n", fault);
    ASSERT_TRUE(list) << fault;
    options.api_keys = std::make_shared<const token_list>(std::move(*list));
    EXPECT_TRUE(options.any());
    std::size_t index = 0;
    const auto a = authenticator::make(options, fault, index);
    ASSERT_NE(a, nullptr) << fault;
    for (int round = 0; round < 3; ++round) {
        const auto found = a->check(secret, now, credential::api_key);
        ASSERT_NE(found.who, nullptr);
        EXPECT_EQ(found.who->principal, "key:ci");
        EXPECT_EQ(found.who->scopes, "tools:call");
        EXPECT_TRUE(found.who->still_is(secret, now, credential::api_key));
        EXPECT_FALSE(found.who->still_is(secret, now));
        // The same bytes, remembered as a key, let in nobody as a token.
        EXPECT_EQ(a->check(secret, now).who, nullptr);
    }
    EXPECT_EQ(a->known(), 2U);
    EXPECT_EQ(a->check(secret + "0", now, credential::api_key).why, token_fault::unknown);
    const auto tokens = make(true);
    EXPECT_NE(tokens->check(secret, now).who, nullptr);
    EXPECT_EQ(tokens->check(secret, now, credential::api_key).who, nullptr);
}

TEST(authenticator, what_is_remembered_ends_with_the_token) {
    const auto a = make();
    const std::string token = token_of("alice", now + 30);
    EXPECT_NE(a->check(token, now).who, nullptr);
    EXPECT_NE(a->check(token, now + 29).who, nullptr);
    EXPECT_EQ(a->judged(), 1U);
    // Within the minute that clocks may differ by, and beyond.
    EXPECT_NE(a->check(token, now + 89).who, nullptr);
    EXPECT_EQ(a->judged(), 2U);
    const auto late = a->check(token, now + 90);
    EXPECT_EQ(late.who, nullptr);
    EXPECT_EQ(late.why, token_fault::expired);
}

TEST(authenticator, a_token_that_differs_is_another_one) {
    const auto a = make();
    const std::string token = token_of("alice", now + 3600);
    ASSERT_NE(a->check(token, now).who, nullptr);
    for (std::size_t i = 0; i < token.size(); i += 3) {
        std::string other = token;
        other[i] = other[i] == 'A' ? 'B' : 'A';
        EXPECT_EQ(a->check(other, now).who, nullptr) << i;
        EXPECT_EQ(a->check(token.substr(0, i), now).who, nullptr) << i;
    }
    EXPECT_NE(a->check(token, now).who, nullptr);
}

std::string numbered(std::size_t i) { return secret + std::to_string(i); }

std::unique_ptr<authenticator> with_listed(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += "n" + std::to_string(i) + " " + hex_digest(numbered(i)) + "\n";
    }
    std::string fault;
    auto list = token_list::parse(text, fault);
    EXPECT_TRUE(list) << fault;
    auth_options options;
    options.tokens = std::make_shared<const token_list>(std::move(*list));
    std::size_t index = 0;
    return authenticator::make(options, fault, index);
}

// More tokens than are remembered only push each other out.
TEST(authenticator, places_are_bounded) {
    const auto a = with_listed(3 * authenticator::slots);
    for (std::size_t i = 0; i < 3 * authenticator::slots; i += 7) {
        const auto out = a->check(numbered(i), now);
        ASSERT_NE(out.who, nullptr) << i;
        ASSERT_EQ(out.who->principal, "token:n" + std::to_string(i));
    }
}

// Tokens met in one place long before there were as many as are remembered, and each time one was
// judged again it was charged to the address.
TEST(authenticator, as_many_as_are_remembered_are_judged_once) {
    const auto a = with_listed(authenticator::slots);
    for (std::size_t i = 0; i < authenticator::slots; ++i) {
        ASSERT_NE(a->check(numbered(i), now).who, nullptr) << i;
    }
    for (std::size_t i = 0; i < authenticator::slots; ++i) {
        ASSERT_NE(a->recall(numbered(i), now), nullptr) << i;
    }
    EXPECT_EQ(a->judged(), authenticator::slots);
}

TEST(authenticator, opaque_tokens_stand_beside_others) {
    const auto a = make(true);
    const auto ci = a->check(secret, now);
    ASSERT_NE(ci.who, nullptr);
    EXPECT_EQ(ci.who->principal, "token:ci");
    EXPECT_EQ(ci.who->scopes, "tools:call");
    EXPECT_NE(a->check(token_of("alice", now + 60), now).who, nullptr);
    EXPECT_EQ(a->check(secret + "x", now).who, nullptr);
    EXPECT_EQ(a->check(secret.substr(1), now).who, nullptr);
    EXPECT_EQ(a->check("", now).why, token_fault::malformed);
}

// Streams go on for as long as the list still says the same of who opened them.
TEST(authenticator, what_lists_say_later) {
    const std::string ci = "ci " + hex_digest(secret);
    const auto with = [](const std::string& tokens, const std::string& keys) {
        auth_options options;
        std::string fault;
        const auto list = [&fault](const std::string& text) {
            auto made = token_list::parse(text, fault);
            EXPECT_TRUE(made) << fault;
            return std::make_shared<const token_list>(std::move(*made));
        };
        options.tokens = list(tokens);
        options.api_keys = list(keys);
        std::size_t index = 0;
        return authenticator::make(options, fault, index);
    };
    const std::string other = "ci " + hex_digest(secret + secret);
    const auto before = with(ci + " a b", other);
    const auto who = before->check(secret, now).who;
    ASSERT_NE(who, nullptr);
    EXPECT_TRUE(before->still_vouches_for(*who));
    EXPECT_TRUE(with(other + "\n" + ci + " a b", ci)->still_vouches_for(*who));
    EXPECT_FALSE(with(other + " a b", other)->still_vouches_for(*who));
    EXPECT_FALSE(with("cj " + hex_digest(secret) + " a b", other)->still_vouches_for(*who));
    EXPECT_FALSE(with(ci + " a", other)->still_vouches_for(*who));
    // As a key it is another one.
    EXPECT_FALSE(with(other, ci + " a b")->still_vouches_for(*who));
}

// Nor did a stream end whose issuer a reload had taken away: it went on until its token was over.
TEST(authenticator, whose_tokens_are_trusted_later) {
    const auto with = [](const std::vector<std::string>& issuers) {
        auth_options options;
        for (const std::string& name : issuers) {
            options.issuers.push_back({{name, {"us"}}, "{\"keys\":[" + key().jwk("k") + "]}"});
        }
        std::string fault;
        std::size_t index = 0;
        return authenticator::make(options, fault, index);
    };
    const auto who = make(true)->check(token_of("alice|bob", now + 60), now).who;
    ASSERT_NE(who, nullptr);
    EXPECT_TRUE(with({"https://i.example"})->still_vouches_for(*who));
    EXPECT_TRUE(with({"https://j.example", "https://i.example"})->still_vouches_for(*who));
    EXPECT_FALSE(with({"https://j.example"})->still_vouches_for(*who));
    EXPECT_FALSE(with({"https://i.example.org", "https://i"})->still_vouches_for(*who));
    EXPECT_FALSE(with({})->still_vouches_for(*who));
}

TEST(authenticator, options_that_are_no_good) {
    const std::string keys = "{\"keys\":[" + key().jwk("k") + "]}";
    for (const auth_options::issuer& bad :
         {auth_options::issuer{{"", {"us"}}, keys}, auth_options::issuer{{"a|b", {"us"}}, keys},
          auth_options::issuer{{"https://i", {}}, keys},
          auth_options::issuer{{"https://i", {"us"}}, "{}"},
          // Of two sets of one issuer the second was never looked at.
          auth_options::issuer{{"https://good", {"us"}}, keys}}) {
        auth_options options;
        options.issuers.push_back({{"https://good", {"us"}}, keys});
        options.issuers.push_back(bad);
        std::string fault;
        std::size_t index = 0;
        EXPECT_EQ(authenticator::make(options, fault, index), nullptr);
        EXPECT_EQ(index, 1U);
        EXPECT_NE(fault, "");
    }
}

TEST(token_list, lines_that_are_understood_and_others) {
    std::string fault;
    const std::string digest = hex_digest(secret);
    const auto list = token_list::parse("# comment\n\n  a\t" + digest + "   x  y\r\n", fault);
    ASSERT_TRUE(list) << fault;
    ASSERT_NE(list->find(secret), nullptr);
    EXPECT_EQ(list->find(secret)->scopes, (std::vector<std::string>{"x", "y"}));
    const auto fault_of = [](const std::string& text) {
        std::string why;
        EXPECT_FALSE(token_list::parse(text, why)) << text;
        return why;
    };
    EXPECT_EQ(fault_of(""), "there is no token in it");
    EXPECT_EQ(fault_of("# a\n"), "there is no token in it");
    EXPECT_NE(fault_of("a\n").find("line 1: behind the name"), std::string::npos);
    EXPECT_NE(fault_of("\na " + digest.substr(1)).find("line 2"), std::string::npos);
    EXPECT_NE(fault_of("a " + digest + "0").find("line 1"), std::string::npos);
    EXPECT_NE(fault_of("a " + digest + "\nb " + digest).find("line 2: the same"),
              std::string::npos);
    EXPECT_NE(fault_of("\xc3\xa9 " + digest).find("visible"), std::string::npos);
    EXPECT_NE(fault_of("a " + digest + " \"x\"").find("scope"), std::string::npos);
    // Nothing of the line is repeated.
    EXPECT_EQ(fault_of("name " + digest.substr(2) + "zz").find(digest.substr(2, 8)),
              std::string::npos);
}

// A short token could be guessed, so a list does not let it in whoever made it.
TEST(token_list, short_tokens_are_nobody) {
    std::string fault;
    const auto list = token_list::parse("a " + hex_digest("short"), fault);
    ASSERT_TRUE(list);
    EXPECT_EQ(list->find("short"), nullptr);
}

}  // namespace
}  // namespace pillion::auth
