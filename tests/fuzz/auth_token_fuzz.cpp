// Fuzz target: texts as tokens, as headers and claims that are signed well, and as key sets.
//
// Nobody can sign who has not the key: a text as it comes is never let in. Claims that are let in
// have what they must have, and who they name can be told.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <mbedtls/md.h>

#include "auth/jwt.hpp"
#include "base/assert.hpp"
#include "crypto/base64url.hpp"
#include "crypto/signing_key.hpp"
#include "json/document.hpp"

namespace pillion::auth {
namespace {

constexpr std::int64_t now = 1'800'000'000;
const std::string secret(32, 's');

jwt_verifier make_verifier() {
    std::string fault;
    const std::string keys = R"({"keys":[{"kty":"oct","kid":"k","k":")" +
                             crypto::to_base64url(secret) + "\"}," +
                             crypto::signing_key::new_p256()->jwk("ec") + "]}";
    auto set = jwk_set::parse(keys, true, fault);
    PILLION_ASSERT(set != nullptr);
    jwt_verifier made(true);
    made.add({"https://i.example", {"us"}}, std::move(set));
    return made;
}

std::string sign(std::string_view header, std::string_view claims) {
    const std::string text = crypto::to_base64url(header) + "." + crypto::to_base64url(claims);
    unsigned char mac[32];
    const int failed =
        mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256),
                        reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
                        reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac);
    PILLION_ASSERT(failed == 0);
    return text + "." + crypto::to_base64url({reinterpret_cast<const char*>(mac), sizeof mac});
}

void judge(jwt_verifier& by, std::string_view header, std::string_view claims) {
    const auto out = by.check(sign(header, claims), now);
    if (out.fault != token_fault::none) {
        PILLION_ASSERT(out.who.subject.empty() && !words_of(out.fault).empty());
        return;
    }
    PILLION_ASSERT(out.who.issuer == "https://i.example" && !out.who.subject.empty());
    PILLION_ASSERT(out.who.expires_s + jwt_verifier::skew_s > now);
    const auto read = json::document::parse(claims);
    PILLION_ASSERT(read && read->root()["sub"].str() == out.who.subject);
}

}  // namespace
}  // namespace pillion::auth

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pillion::auth;
    static jwt_verifier verifier = make_verifier();
    if (size == 0) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    constexpr std::string_view usual = R"({"alg":"HS256","kid":"k"})";
    switch (data[0] % 4) {
        case 0: {
            const auto out = verifier.check(text, now);
            PILLION_ASSERT(out.fault != token_fault::none);
            break;
        }
        case 1:
            judge(verifier, usual, text);
            break;
        case 2:
            judge(verifier, text,
                  R"({"iss":"https://i.example","aud":"us","sub":"a","exp":1800000100,"iat":1})");
            break;
        default: {
            std::string fault;
            const auto set = jwk_set::parse(text, data[0] % 8 == 3, fault);
            PILLION_ASSERT((set == nullptr) == !fault.empty());
            break;
        }
    }
    return 0;
}
