// Tokens: what is let in, and all that is not.
#include "auth/jwt.hpp"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "crypto/base64url.hpp"
#include "crypto/signing_key.hpp"
#include "unit/auth/test_clock.hpp"

namespace pillion::auth {
namespace {

using crypto::signing_key;

using testing::now;
constexpr const char* issuer = "https://issuer.example";

// Made once: RSA takes its time.
struct keys {
    std::unique_ptr<signing_key> ec = signing_key::new_p256();
    std::unique_ptr<signing_key> rsa = signing_key::new_rsa();
    std::unique_ptr<signing_key> stranger = signing_key::new_p256();
    static keys& all() {
        static keys one;
        return one;
    }
};

std::string key_set() {
    return "{\"keys\":[" + keys::all().ec->jwk("ec") + "," + keys::all().rsa->jwk("rsa") + "]}";
}

std::string join(const std::string& header, const std::string& claims) {
    return crypto::to_base64url(header) + "." + crypto::to_base64url(claims);
}
std::string sign(signing_key& by, const std::string& header, const std::string& claims) {
    const std::string text = join(header, claims);
    return text + "." + crypto::to_base64url(by.sign(text));
}

const std::string es_header = R"({"alg":"ES256","typ":"JWT","kid":"ec"})";
const std::string rs_header = R"({"alg":"RS256","typ":"at+jwt","kid":"rsa"})";

// Members of the claims; the last of a name counts here, so that a test changes one.
std::string claims_with(const std::string& name = "", const std::string& value = "") {
    std::pair<std::string, std::string> all[] = {
        {"iss", "\"https://issuer.example\""},
        {"aud", "\"https://server.example/mcp\""},
        {"sub", "\"alice\""},
        {"exp", std::to_string(now + 600)},
        {"iat", std::to_string(now - 10)},
        {"scope", "\"tools:read tools:call\""},
    };
    std::string text;
    bool known = name.empty();
    for (auto& [member, content] : all) {
        if (member == name) {
            content = value;
            known = true;
        }
        if (!content.empty()) {
            text += (text.empty() ? "" : ",") + ("\"" + member + "\":" + content);
        }
    }
    return "{" + text + (known ? "" : ",\"" + name + "\":" + value) + "}";
}

class jwt_test : public ::testing::Test {
 protected:
    void SetUp() override { set_keys(key_set()); }
    void set_keys(const std::string& text, bool with_secrets = false) {
        std::string fault;
        auto made = jwk_set::parse(text, with_secrets, fault);
        ASSERT_NE(made, nullptr) << fault;
        verifier = jwt_verifier(with_secrets);
        verifier.add({issuer, {"https://server.example/mcp", "pillion"}}, std::move(made));
    }
    token_fault fault_of(const std::string& token, std::int64_t at = now) {
        const auto out = verifier.check(token, at);
        // Whoever is refused is nobody.
        EXPECT_TRUE(out.fault == token_fault::none || out.who.subject.empty());
        return out.fault;
    }
    token_fault with_claim(const std::string& name, const std::string& value) {
        return fault_of(sign(*keys::all().ec, es_header, claims_with(name, value)));
    }
    token_fault with_header(const std::string& header) {
        return fault_of(sign(*keys::all().ec, header, claims_with()));
    }
    jwt_verifier verifier;
};

TEST_F(jwt_test, tokens_of_both_kinds_say_who_it_is) {
    for (const std::string& token : {sign(*keys::all().ec, es_header, claims_with()),
                                     sign(*keys::all().rsa, rs_header, claims_with())}) {
        const auto out = verifier.check(token, now);
        ASSERT_EQ(out.fault, token_fault::none) << words_of(out.fault);
        EXPECT_EQ(out.issuer, 0U);
        EXPECT_EQ(out.who.issuer, issuer);
        EXPECT_EQ(out.who.subject, "alice");
        EXPECT_EQ(out.who.scopes, (std::vector<std::string>{"tools:read", "tools:call"}));
        EXPECT_EQ(out.who.expires_s, now + 600);
    }
}

TEST_F(jwt_test, times_have_a_minute_either_way) {
    const std::string token = sign(*keys::all().ec, es_header, claims_with());
    EXPECT_EQ(fault_of(token, now + 600 + 59), token_fault::none);
    EXPECT_EQ(fault_of(token, now + 600 + 60), token_fault::expired);
    EXPECT_EQ(fault_of(token, now - 10 - 60), token_fault::none);
    EXPECT_EQ(fault_of(token, now - 10 - 61), token_fault::not_yet);
    EXPECT_EQ(with_claim("nbf", std::to_string(now + 60)), token_fault::none);
    EXPECT_EQ(with_claim("nbf", std::to_string(now + 61)), token_fault::not_yet);
    EXPECT_EQ(with_claim("exp", "1800000600.5"), token_fault::none);
    EXPECT_EQ(with_claim("exp", "1.8e9"), token_fault::none);
    EXPECT_EQ(with_claim("exp", "0"), token_fault::expired);
    EXPECT_EQ(with_claim("exp", "-1"), token_fault::expired);
}

TEST_F(jwt_test, claims_that_are_missing_or_of_another_type) {
    for (const char* const name : {"exp", "iat", "sub"}) {
        EXPECT_EQ(with_claim(name, ""), token_fault::claims) << name;
        EXPECT_EQ(with_claim(name, "null"), token_fault::claims) << name;
        EXPECT_EQ(with_claim(name, "[]"), token_fault::claims) << name;
        EXPECT_EQ(with_claim(name, "true"), token_fault::claims) << name;
    }
    EXPECT_EQ(with_claim("exp", "\"1800000600\""), token_fault::claims);
    EXPECT_EQ(with_claim("exp", "1e300"), token_fault::claims);
    EXPECT_EQ(with_claim("exp", "1e999"), token_fault::claims);
    EXPECT_EQ(with_claim("nbf", "\"soon\""), token_fault::claims);
    EXPECT_EQ(with_claim("sub", "\"\""), token_fault::claims);
    EXPECT_EQ(with_claim("sub", "7"), token_fault::claims);
    EXPECT_EQ(with_claim("sub", "\"" + std::string(256, 'a') + "\""), token_fault::claims);
    EXPECT_EQ(with_claim("scope", "[\"a\"]"), token_fault::claims);
    EXPECT_EQ(with_claim("scope", ""), token_fault::none);
    EXPECT_EQ(with_claim("scp", "[\"a\",\"b\"]"), token_fault::none);
}

TEST_F(jwt_test, audiences) {
    EXPECT_EQ(with_claim("aud", "\"pillion\""), token_fault::none);
    EXPECT_EQ(with_claim("aud", "[\"other\",\"pillion\"]"), token_fault::none);
    for (const char* const wrong :
         {"", "null", "\"\"", "\"other\"", "[]", "[\"other\"]", "\"https://server.example/mcp/\"",
          "\"https://server.example\"", "\"PILLION\"", "\"pillion \"", "[[\"pillion\"]]",
          "{\"pillion\":1}", "7"}) {
        EXPECT_EQ(with_claim("aud", wrong), token_fault::audience) << wrong;
    }
}

TEST_F(jwt_test, issuers) {
    for (const char* const wrong :
         {"", "null", "\"\"", "\"https://issuer.example/\"", "\"https://ISSUER.example\"",
          "\"https://issuer.example.evil.example\"", "[\"https://issuer.example\"]"}) {
        EXPECT_EQ(with_claim("iss", wrong), token_fault::issuer) << wrong;
        // However it is signed: it may be one that others judge.
        for (const std::string other :
             {R"({"alg":"PS256"})", R"({"alg":"none"})", R"({"alg":"ES256","x5c":["x"]})"}) {
            EXPECT_EQ(fault_of(join(other, claims_with("iss", wrong)) + "."), token_fault::issuer);
        }
    }
}

TEST_F(jwt_test, algorithms_that_are_not_accepted) {
    for (const char* const name :
         {"none", "None", "NONE", "", "HS256", "RS384", "ES384", "PS256", "es256", "EdDSA"}) {
        const std::string header =
            R"({"alg":")" + std::string(name) + R"(","typ":"JWT","kid":"ec"})";
        EXPECT_EQ(with_header(header), token_fault::algorithm) << name;
        EXPECT_EQ(fault_of(join(header, claims_with()) + "."), token_fault::algorithm) << name;
    }
    EXPECT_EQ(with_header(R"({"kid":"ec"})"), token_fault::algorithm);
    EXPECT_EQ(with_header(R"({"alg":["ES256"],"kid":"ec"})"), token_fault::algorithm);
}

// A key is used for its own algorithm only, whatever the token says.
TEST_F(jwt_test, keys_and_algorithms_are_not_mixed) {
    EXPECT_EQ(with_header(R"({"alg":"RS256","kid":"ec"})"), token_fault::signature);
    EXPECT_EQ(with_header(R"({"alg":"ES256","kid":"rsa"})"), token_fault::signature);
    // The public key as a secret of HMAC.
    set_keys(key_set(), true);
    const std::string header = R"({"alg":"HS256","kid":"rsa"})";
    EXPECT_EQ(with_header(header), token_fault::signature);
    EXPECT_EQ(
        fault_of(join(header, claims_with()) + "." + crypto::to_base64url(std::string(32, '\0'))),
        token_fault::signature);
}

TEST_F(jwt_test, headers_that_bring_or_name_keys) {
    const std::string own = keys::all().stranger->jwk("ec");
    for (const std::string& more :
         {std::string(R"("jku":"https://evil.example/keys")"), "\"jwk\":" + own,
          std::string(R"("x5u":"https://evil.example/c.pem")"), std::string(R"("x5c":["MII="])"),
          std::string(R"("crit":["exp"])"), std::string(R"("b64":false)"),
          std::string(R"("zip":"DEF")"), std::string(R"("enc":"A256GCM")")}) {
        const std::string header = R"({"alg":"ES256","kid":"ec",)" + more + "}";
        EXPECT_EQ(with_header(header), token_fault::header) << more;
        EXPECT_EQ(fault_of(sign(*keys::all().stranger, header, claims_with())), token_fault::header)
            << more;
    }
    EXPECT_EQ(with_header(R"({"alg":"ES256","kid":7})"), token_fault::header);
    EXPECT_EQ(with_header(R"({"alg":"ES256","kid":"ec","typ":"secevent+jwt"})"),
              token_fault::header);
    EXPECT_EQ(with_header(R"({"alg":"ES256","kid":"ec","typ":"jwt","x5t":"abc"})"),
              token_fault::none);
}

TEST_F(jwt_test, keys_that_are_not_known) {
    EXPECT_EQ(with_header(R"({"alg":"ES256","kid":"gone"})"), token_fault::unknown_key);
    EXPECT_EQ(with_header(R"({"alg":"ES256","kid":""})"), token_fault::unknown_key);
    const auto out = verifier.check(
        sign(*keys::all().ec, R"({"alg":"ES256","kid":"gone"})", claims_with()), now);
    EXPECT_EQ(out.issuer, 0U);  // whose keys might be fetched again
    // Without an id the only key of that kind will do.
    EXPECT_EQ(with_header(R"({"alg":"ES256"})"), token_fault::none);
    set_keys("{\"keys\":[" + keys::all().ec->jwk("a") + "," + keys::all().stranger->jwk("b") +
             "]}");
    EXPECT_EQ(with_header(R"({"alg":"ES256"})"), token_fault::signature);
}

TEST_F(jwt_test, signatures) {
    EXPECT_EQ(fault_of(sign(*keys::all().stranger, es_header, claims_with())),
              token_fault::signature);
    const std::string token = sign(*keys::all().ec, es_header, claims_with());
    const std::string other = sign(*keys::all().ec, es_header, claims_with("sub", "\"bob\""));
    const auto dot = [](const std::string& t) { return t.rfind('.'); };
    EXPECT_EQ(fault_of(other.substr(0, dot(other)) + token.substr(dot(token))),
              token_fault::signature);
    EXPECT_EQ(fault_of(token.substr(0, dot(token) + 1)), token_fault::signature);
}

TEST_F(jwt_test, no_byte_may_differ_and_none_may_be_missing) {
    const std::string token = sign(*keys::all().ec, es_header, claims_with());
    ASSERT_EQ(fault_of(token), token_fault::none);
    for (std::size_t i = 0; i < token.size(); ++i) {
        std::string other = token;
        other[i] = other[i] == 'A' ? 'B' : 'A';
        EXPECT_NE(fault_of(other), token_fault::none) << i;
        EXPECT_NE(fault_of(token.substr(0, i)), token_fault::none) << i;
    }
    for (const char* const more : {"=", "A", ".", ".e30", " ", "\n"}) {
        EXPECT_NE(fault_of(token + more), token_fault::none) << more;
        EXPECT_NE(fault_of(more + token), token_fault::none) << more;
    }
}

TEST_F(jwt_test, what_is_no_token) {
    for (const std::string& text :
         {std::string(), std::string("."), std::string(".."), std::string("..."), std::string("a"),
          std::string("a.b.c"), std::string(9000, 'a'), std::string(9000, '.'),
          std::string("{}.{}.x"), std::string("bnVsbA.bnVsbA.AAAA"), std::string("W10.W10.AAAA"),
          std::string("\0.\0.\0", 5)}) {
        EXPECT_EQ(fault_of(text), token_fault::malformed);
    }
    // Nested, larger than it may be, twice the same name, rubbish behind.
    EXPECT_EQ(fault_of(sign(*keys::all().ec, es_header,
                            claims_with("deep", std::string(40, '[') + std::string(40, ']')))),
              token_fault::malformed);
    EXPECT_EQ(fault_of(sign(*keys::all().ec, es_header,
                            claims_with("much", "\"" + std::string(9000, 'm') + "\""))),
              token_fault::malformed);
    EXPECT_EQ(fault_of(sign(*keys::all().ec, R"({"alg":"ES256","kid":"ec","alg":"none"})",
                            claims_with())),
              token_fault::malformed);
    EXPECT_EQ(
        fault_of(sign(*keys::all().ec, es_header, claims_with("admin", "1,\"sub\":\"root\""))),
        token_fault::malformed);
    EXPECT_EQ(fault_of(sign(*keys::all().ec, es_header, claims_with() + "x")),
              token_fault::malformed);
    // Five parts are an encrypted token.
    EXPECT_EQ(fault_of(es_header + ".a.b.c.d"), token_fault::malformed);
}

TEST_F(jwt_test, secrets_count_where_they_were_asked_for) {
    const std::string secret(40, 's');
    const std::string set = R"({"keys":[{"kty":"oct","kid":"dev","k":")" +
                            crypto::to_base64url(secret) + "\"}," + keys::all().ec->jwk("ec") +
                            "]}";
    const std::string text = join(R"({"alg":"HS256","kid":"dev"})", claims_with());
    unsigned char mac[32];
    mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256),
                    reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac);
    const std::string token =
        text + "." + crypto::to_base64url({reinterpret_cast<const char*>(mac), sizeof mac});
    set_keys(set, true);
    EXPECT_EQ(fault_of(token), token_fault::none);
    set_keys(set, false);
    EXPECT_EQ(fault_of(token), token_fault::algorithm);
}

TEST_F(jwt_test, several_issuers_have_keys_of_their_own) {
    std::string fault;
    verifier.add(
        {"https://second.example", {"pillion"}},
        jwk_set::parse("{\"keys\":[" + keys::all().stranger->jwk("ec") + "]}", false, fault));
    const std::string claims = R"({"iss":"https://second.example","aud":"pillion","sub":"alice",)"
                               R"("exp":1800000600,"iat":1800000000})";
    const auto out = verifier.check(sign(*keys::all().stranger, es_header, claims), now);
    EXPECT_EQ(out.fault, token_fault::none);
    EXPECT_EQ(out.issuer, 1U);
    EXPECT_EQ(out.who.issuer, "https://second.example");
    EXPECT_EQ(fault_of(sign(*keys::all().ec, es_header, claims)), token_fault::signature);
    // Keys that were taken away open nothing any more.
    verifier.change_keys(1, nullptr);
    EXPECT_EQ(fault_of(sign(*keys::all().stranger, es_header, claims)), token_fault::no_keys);
}

TEST(jwk_set, sets_that_are_none) {
    const std::string good = keys::all().ec->jwk("ec");
    std::string many;
    for (int i = 0; i < 65; ++i) {
        many += (i > 0 ? "," : "") + good;
    }
    for (const std::string& text :
         {std::string(), std::string("{}"), std::string("[]"), std::string(R"({"keys":{}})"),
          std::string(R"({"keys":[]})"), std::string(R"({"keys":[7,null,[],{}]})"), good,
          R"({"keys":[)" + many + "]}", R"({"keys":[)" + good, std::string(300 * 1024, ' ')}) {
        std::string fault;
        EXPECT_EQ(jwk_set::parse(text, false, fault), nullptr) << text.substr(0, 60);
        EXPECT_NE(fault, "");
    }
}

TEST(jwk_set, keys_for_other_things_are_left_out) {
    const std::string ec = keys::all().ec->jwk("ec");
    const std::string rsa = keys::all().rsa->jwk("rsa");
    const auto changed = [](std::string text, const std::string& from, const std::string& to) {
        const std::size_t at = text.find(from);
        EXPECT_NE(at, text.npos) << from;
        return text.replace(at, from.size(), to);
    };
    const auto size_of = [](const std::string& one) {
        std::string fault;
        const auto set = jwk_set::parse("{\"keys\":[" + one + "]}", false, fault);
        return set == nullptr ? 0U : set->size();
    };
    EXPECT_EQ(size_of(ec), 1U);
    EXPECT_EQ(size_of(ec + "," + rsa), 2U);
    EXPECT_EQ(size_of(changed(ec, "\"use\":\"sig\"", "\"use\":\"enc\"")), 0U);
    EXPECT_EQ(size_of(changed(ec, "\"use\":\"sig\"", "\"key_ops\":[\"sign\"]")), 0U);
    EXPECT_EQ(size_of(changed(ec, "\"use\":\"sig\"", "\"key_ops\":[\"sign\",\"verify\"]")), 1U);
    EXPECT_EQ(size_of(changed(ec, "P-256", "P-384")), 0U);
    EXPECT_EQ(size_of(changed(ec, "ES256", "ES384")), 0U);
    EXPECT_EQ(size_of(changed(rsa, "RS256", "PS256")), 0U);
    EXPECT_EQ(size_of(changed(rsa, "\"kty\":\"RSA\"", "\"kty\":\"OKP\"")), 0U);
    EXPECT_EQ(size_of(changed(ec, ",\"alg\":\"ES256\"", "")), 1U);
    EXPECT_EQ(size_of(changed(ec, "\"x\":\"", "\"x\":\"A")), 0U);
    EXPECT_EQ(size_of(R"({"kty":"oct","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0","kid":"s"})"),
              0U);
}

}  // namespace
}  // namespace pillion::auth
