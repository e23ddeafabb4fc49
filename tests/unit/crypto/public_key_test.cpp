#include "crypto/public_key.hpp"

#include <string>

#include <gtest/gtest.h>

#include "crypto/base64url.hpp"
#include "crypto/signing_key.hpp"
#include "json/document.hpp"

namespace pillion::crypto {
namespace {

std::string decode(std::string_view text) {
    const auto bytes = from_base64url(text);
    EXPECT_TRUE(bytes) << text;
    return bytes.value_or("");
}

// RFC 7515, appendix A.
constexpr std::string_view payload =
    ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
    "fQ";

TEST(public_key, the_ecdsa_example_of_the_rfc) {
    const auto key = public_key::p256(decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                                      decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"));
    ASSERT_NE(key, nullptr);
    const std::string text = "eyJhbGciOiJFUzI1NiJ9" + std::string(payload);
    std::string signature = decode(
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
    EXPECT_TRUE(key->verify(text, signature));
    EXPECT_TRUE(key->verify(text, signature));
    EXPECT_FALSE(key->verify(text + "x", signature));
    EXPECT_FALSE(key->verify(text, signature + "x"));
    EXPECT_FALSE(key->verify(text, signature.substr(1)));
    EXPECT_FALSE(key->verify(text, std::string(64, '\0')));
    for (std::size_t i = 0; i < signature.size(); ++i) {
        signature[i] ^= 4;
        EXPECT_FALSE(key->verify(text, signature)) << i;
        signature[i] ^= 4;
    }
}

TEST(public_key, the_hmac_example_of_the_rfc) {
    const auto key = public_key::hmac(decode(
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"));
    ASSERT_NE(key, nullptr);
    const std::string text = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9" + std::string(payload);
    const std::string signature = decode("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    EXPECT_TRUE(key->verify(text, signature));
    EXPECT_FALSE(key->verify(text, signature.substr(1)));
    EXPECT_FALSE(key->verify(text, ""));
    EXPECT_EQ(public_key::hmac(std::string(31, 'x')), nullptr);
}

TEST(public_key, points_that_are_none_and_moduli_that_are_weak) {
    const std::string x = decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU");
    const std::string y = decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");
    EXPECT_EQ(public_key::p256(y, x), nullptr);
    EXPECT_EQ(public_key::p256(x, y.substr(1)), nullptr);
    EXPECT_EQ(public_key::p256("", ""), nullptr);
    EXPECT_EQ(public_key::p256(std::string(32, '\0'), std::string(32, '\0')), nullptr);
    const std::string e("\x01\x00\x01", 3);
    const std::string odd = std::string(255, '\xff') + '\x01';
    EXPECT_NE(public_key::rsa(odd, e), nullptr);
    EXPECT_NE(public_key::rsa(std::string(3, '\0') + odd, e), nullptr);
    EXPECT_EQ(public_key::rsa(odd.substr(1), e), nullptr);              // 2040 bits
    EXPECT_EQ(public_key::rsa(std::string(1025, '\xff'), e), nullptr);  // 8200 bits
    EXPECT_EQ(public_key::rsa(std::string(300, '\0') + "x", e), nullptr);
    EXPECT_EQ(public_key::rsa(odd, std::string("\x01", 1)), nullptr);
    EXPECT_EQ(public_key::rsa(odd, std::string("\x02", 1)), nullptr);
    EXPECT_EQ(public_key::rsa(odd, ""), nullptr);
    EXPECT_EQ(public_key::rsa("", e), nullptr);
}

TEST(signing_key, what_it_signs_its_public_half_verifies) {
    for (const auto& key : {signing_key::new_p256(), signing_key::new_rsa()}) {
        std::string fault;
        const auto again = signing_key::read(key->pem(), fault);
        ASSERT_NE(again, nullptr) << fault;
        EXPECT_STREQ(again->algorithm(), key->algorithm());
        const auto jwk = json::document::parse(key->jwk("one"));
        ASSERT_TRUE(jwk) << key->jwk("one");
        EXPECT_EQ(jwk->root()["kid"].str(), "one");
        EXPECT_EQ(jwk->root()["alg"].str(), key->algorithm());
        const bool rsa = jwk->root()["kty"].str() == "RSA";
        const auto half =
            rsa ? public_key::rsa(decode(jwk->root()["n"].str()), decode(jwk->root()["e"].str()))
                : public_key::p256(decode(jwk->root()["x"].str()), decode(jwk->root()["y"].str()));
        ASSERT_NE(half, nullptr);
        for (int round = 0; round < 20; ++round) {  // numbers with leading zeros come up
            const std::string text = "text " + std::to_string(round);
            EXPECT_TRUE(half->verify(text, again->sign(text))) << round;
            EXPECT_FALSE(half->verify(text, key->sign("another"))) << round;
        }
    }
    std::string fault;
    EXPECT_EQ(signing_key::read("rubbish", fault), nullptr);
    EXPECT_NE(fault, "");
}

TEST(signing_key, a_secret_signs_what_it_verifies) {
    const auto key = signing_key::new_secret();
    std::string fault;
    const auto again = signing_key::read(key->pem(), fault);
    ASSERT_NE(again, nullptr) << fault;
    EXPECT_STREQ(again->algorithm(), "HS256");
    EXPECT_TRUE(again->is_secret());
    const auto jwk = json::document::parse(key->jwk("one"));
    ASSERT_TRUE(jwk);
    EXPECT_EQ(jwk->root()["kty"].str(), "oct");
    const auto half = public_key::hmac(decode(jwk->root()["k"].str()));
    ASSERT_NE(half, nullptr);
    EXPECT_TRUE(half->verify("text", again->sign("text")));
    EXPECT_FALSE(half->verify("text", key->sign("another")));
    EXPECT_FALSE(half->verify("text", signing_key::new_secret()->sign("text")));
    // 31 bytes are too few.
    EXPECT_EQ(signing_key::read(std::string(42, 'A'), fault), nullptr);
    EXPECT_NE(signing_key::read(std::string(43, 'A'), fault), nullptr);
}

TEST(same_secret, compares_all_of_it) {
    EXPECT_TRUE(same_secret("", ""));
    EXPECT_TRUE(same_secret("abc", "abc"));
    EXPECT_FALSE(same_secret("abc", "abd"));
    EXPECT_FALSE(same_secret("abc", "bbc"));
    EXPECT_FALSE(same_secret("abc", "ab"));
}

}  // namespace
}  // namespace pillion::crypto
