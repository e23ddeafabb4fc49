// jwt: signed tokens (RFC 7519, in compact form, RFC 7515 §7.1) and the rules they are judged by
// (STANDARD rows 53 and 54; RFC 9068 for access tokens).
//
// A token is parsed strictly: three parts of base64url, JSON objects, members of the right types.
// Headers that bring or name keys of their own, or that must be understood (`crit`), are refused.
// Thread: a verifier belongs to one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/jwk_set.hpp"

namespace pillion::auth {

enum class token_fault : std::uint8_t {
    none,
    malformed,    // no JWT, or not of the types that are required
    algorithm,    // none, or one that is not accepted
    header,       // jku, x5u, jwk, x5c, crit and the like
    issuer,       // nobody we know
    unknown_key,  // no key of that id
    no_keys,      // the keys of its issuer could not be had so far: it may be good
    signature,
    audience,  // meant for somebody else
    expired,
    not_yet,
    claims,    // a claim is missing, or too long
    inactive,  // an authorization server says so
    unasked,   // … must be asked first
    unknown,   // a key of no list
};
// For the log and the description in a challenge: constant, says nothing of the token.
std::string_view words_of(token_fault what) noexcept;

struct issuer_rules {
    std::string issuer;                  // exactly as `iss` has it
    std::vector<std::string> audiences;  // one of them must be in `aud`
};

// Who a token is of.
struct token_identity {
    std::string issuer;
    std::string subject;
    std::vector<std::string> scopes;
    std::int64_t expires_s = 0;  // seconds since 1970
};

class jwt_verifier {
 public:
    // Larger than any of an honest issuer, smaller than a head.
    static constexpr std::size_t token_bytes_max = 8192;
    // How far clocks may differ (STANDARD row 53).
    static constexpr std::int64_t skew_s = 60;

    // Accepts HS256 for keys that are secrets: for development.
    explicit jwt_verifier(bool with_secrets = false) : with_secrets_(with_secrets) {}

    // One more issuer, with its keys; null: they are not known yet. Several may not have the same
    // name.
    void add(issuer_rules rules, std::unique_ptr<jwk_set> keys);
    bool trusts(std::string_view issuer) const noexcept;
    // Other keys of an issuer, in the order of add().
    void change_keys(std::size_t issuer, std::unique_ptr<jwk_set> keys) {
        all_[issuer].keys = std::move(keys);
    }

    struct outcome {
        token_fault fault = token_fault::none;
        std::size_t issuer = 0;  // whose token it is, or says it is; SIZE_MAX: nobody's
        token_identity who;      // where there is no fault
    };
    // Judges a token at a time in seconds since 1970.
    outcome check(std::string_view token, std::int64_t now_s);

 private:
    struct one_issuer {
        issuer_rules rules;
        std::unique_ptr<jwk_set> keys;
    };

    std::vector<one_issuer> all_;
    bool with_secrets_;
};

}  // namespace pillion::auth
