#include "auth/introspection.hpp"

#include <gtest/gtest.h>

#include "auth/authenticator.hpp"
#include "crypto/base64url.hpp"
#include "unit/auth/test_clock.hpp"

namespace pillion::auth {
namespace {

using testing::now;
const std::string token = "0123456789abcdef0123456789abcdef";

std::shared_ptr<introspection_rules> rules() {
    auto made = std::make_shared<introspection_rules>();
    made->endpoint = "https://as.example/introspect";
    made->audiences = {"us"};
    return made;
}

introspection_answer read(const std::string& text) {
    return read_introspection(text, *rules(), now);
}

TEST(introspection, the_form_and_the_secret_are_encoded) {
    EXPECT_EQ(introspection_form("aZ0-._~+/="),
              "token_type_hint=access_token&token=aZ0-._~%2B%2F%3D");
    // base64 of "a%20b:c%3A%25"
    EXPECT_EQ(basic_authorization("a b", "c:%"), "Basic YSUyMGI6YyUzQSUyNQ==");
}

TEST(introspection, who_it_is) {
    auto said = read(R"({"active":true,"sub":"a","iss":"https://i","scope":"x y","aud":["us"]})");
    EXPECT_TRUE(said.understood);
    EXPECT_EQ(said.why, token_fault::none);
    EXPECT_EQ(said.principal, "introspected:https://i|a");
    EXPECT_EQ(said.scopes, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(said.good_until_s, now + 60);
    said = read(R"({"active":true,"client_id":"c"})");
    EXPECT_EQ(said.principal, "introspected-client:https://as.example/introspect|c");
    // Not longer than it says itself, to the moment.
    said = read(R"({"active":true,"sub":"a","exp":1800000030})");
    EXPECT_EQ(said.good_until_s, now + 30);
    EXPECT_EQ(said.ends_s, now + 30);
    said = read(R"({"active":true,"sub":"a","exp":1800000000.5})");
    EXPECT_EQ(said.good_until_s, now + 1);
    EXPECT_EQ(read(R"({"active":true,"sub":"a","exp":1800000000})").why, token_fault::expired);
}

TEST(introspection, answers_that_are_none_say_nothing_of_the_token) {
    const std::string good = R"({"active":true,"sub":"alice","exp":1800000030})";
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        EXPECT_FALSE(read(good.substr(0, cut)).understood) << cut;
    }
    for (const std::string bad :
         {R"({"active":1})", R"({"active":"true"})", R"({"active":null})", "true", "[]", "{}",
          R"({"active":true,"sub":"a","active":true})"}) {
        EXPECT_FALSE(read(bad).understood) << bad;
    }
    EXPECT_FALSE(read(good + std::string(introspection_rules::answer_bytes_max, ' ')).understood);
}

TEST(introspection, who_is_nobody) {
    struct {
        std::string text;
        token_fault why;
    } const cases[] = {
        {R"({"active":false,"sub":"a"})", token_fault::inactive},
        {R"({"active":true})", token_fault::claims},
        {R"({"active":true,"sub":""})", token_fault::claims},
        {R"({"active":true,"sub":"a","iss":"x|y"})", token_fault::claims},
        {R"({"active":true,"sub":"a","exp":"1"})", token_fault::claims},
        {R"({"active":true,"sub":"a","exp":1e300})", token_fault::claims},
        {R"({"active":true,"sub":"a","aud":"them"})", token_fault::audience},
        {R"({"active":true,"sub":"a","aud":null})", token_fault::audience},
        {R"({"active":true,"sub":"a","exp":1799999999})", token_fault::expired},
        {R"({"active":true,"sub":"a","nbf":1800000061})", token_fault::not_yet},
    };
    for (const auto& one : cases) {
        const auto said = read(one.text);
        EXPECT_TRUE(said.understood) << one.text;
        EXPECT_EQ(said.why, one.why) << one.text;
    }
}

TEST(authenticator, remembers_what_an_authorization_server_said) {
    auth_options options;
    EXPECT_FALSE(options.any());
    options.introspection = rules();
    EXPECT_TRUE(options.any());
    std::string fault;
    std::size_t index = 0;
    const auto made = authenticator::make(options, fault, index);
    ASSERT_NE(made, nullptr) << fault;
    EXPECT_EQ(made->check("short", now).why, token_fault::malformed);
    EXPECT_EQ(made->check(std::string(9000, 'x'), now).why, token_fault::malformed);
    EXPECT_EQ(made->check(token, now).why, token_fault::unasked);

    made->learn(token, read(R"({"active":false})"), now);
    EXPECT_EQ(made->check(token, now + 4).why, token_fault::inactive);
    EXPECT_EQ(made->check(token, now + 5).why, token_fault::unasked);

    made->learn(token, read(R"({"active":true,"sub":"a"})"), now);
    ASSERT_NE(made->check(token, now + 59).who, nullptr);
    EXPECT_EQ(made->check(token, now + 59).who->principal,
              "introspected:https://as.example/introspect|a");
    EXPECT_EQ(made->check(token, now + 60).why, token_fault::unasked);
    EXPECT_EQ(made->check(token + "x", now).why, token_fault::unasked);
}

// Beside an issuer of ours a JWT of another one that we could not read was refused unasked.
TEST(authenticator, asks_about_any_token_of_an_issuer_that_is_not_known) {
    auth_options options;
    options.introspection = rules();
    options.issuers.push_back({{"https://i", {"us"}}, {}, "https://i/jwks"});
    std::string fault;
    std::size_t index = 0;
    const auto made = authenticator::make(options, fault, index);
    ASSERT_NE(made, nullptr) << fault;
    const auto why_of = [&made](const std::string& header, const std::string& issuer) {
        return made
            ->check(crypto::to_base64url(header) + "." +
                        crypto::to_base64url(R"({"iss":")" + issuer + R"("})") + ".YQ",
                    now)
            .why;
    };
    for (const std::string header :
         {R"({"alg":"PS256"})", R"({"alg":"EdDSA"})", R"({"alg":"RS256","typ":"token+jwt"})",
          R"({"alg":"RS256","x5c":["x"]})"}) {
        EXPECT_EQ(why_of(header, "https://other"), token_fault::unasked) << header;
        const token_fault ours = why_of(header, "https://i");
        EXPECT_TRUE(ours == token_fault::algorithm || ours == token_fault::header) << header;
    }
}

}  // namespace
}  // namespace pillion::auth
