// authenticator: who sends a bearer token: a JWT of an issuer that we trust, or an opaque token of
// a list; or an API key of another list. What was found is remembered, so that the same token costs
// a comparison from then on.
//
// One for each loop: keys remember tables, and nothing is locked. Thread: its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/jwt.hpp"
#include "auth/scopes.hpp"
#include "auth/token_list.hpp"

namespace pillion::auth {

struct auth_options {
    struct issuer {
        issuer_rules rules;
        std::string keys;  // the text of its key set
    };
    std::vector<issuer> issuers;
    std::shared_ptr<const token_list> tokens;    // may be null
    std::shared_ptr<const token_list> api_keys;  // of X-API-Key; null: the header means nothing
    bool with_secrets = false;                   // HS256, for development
    // What those may use for whom the system or a certificate vouches; none: everything. Where
    // there are some, whoever is not among them is not let in.
    struct grant {
        std::string principal;
        bool limited = false;  // to the scopes, which have blanks between them
        std::string scopes;
    };
    std::vector<grant> grants;
    // What a client should ask its issuer for at first; none: all that are needed for something.
    scope_list first_scopes;

    // Whether a credential of a request lets anybody in.
    bool any() const noexcept {
        return !issuers.empty() || tokens != nullptr || api_keys != nullptr;
    }
};

// How a credential was shown. The same text is another one when it is shown otherwise.
enum class credential : std::uint8_t { bearer, api_key };

// Who has authenticated.
struct identity {
    // "ISSUER|SUBJECT", "token:NAME" or "key:NAME". An issuer's name holds no |.
    std::string principal;
    std::string scopes;             // with blanks between them
    std::int64_t good_until_s = 0;  // seconds since 1970: then it is judged anew
    // When the token itself is over, clocks that differ included; INT64_MAX: never.
    std::int64_t ends_s = INT64_MAX;
    std::string token;  // wiped when it goes
    credential kind = credential::bearer;

    identity() = default;
    identity(const identity&) = delete;
    identity& operator=(const identity&) = delete;
    ~identity();

    // Whether this is what the same bytes would be found to be again.
    bool still_is(std::string_view other, std::int64_t now_s,
                  credential shown_as = credential::bearer) const noexcept;
};
using identity_ref = std::shared_ptr<const identity>;

class authenticator {
 public:
    // How long a token is believed without another look (STANDARD row 53: keys are cached ≤ 10
    // min).
    static constexpr std::int64_t remembered_s = 600;
    // Tokens remembered at a time.
    static constexpr std::size_t slots = 1024;

    // Null with a fault, whose `index` is that of the issuer.
    static std::unique_ptr<authenticator> make(const auth_options& options, std::string& fault,
                                               std::size_t& index);

    struct answer {
        identity_ref who;                     // null: nobody
        token_fault why = token_fault::none;  // … for this reason
    };
    // Judges a token at a time in seconds since 1970.
    answer check(std::string_view token, std::int64_t now_s,
                 credential shown_as = credential::bearer);

    // Tokens that were judged, and those that were known.
    std::uint64_t judged() const noexcept { return judged_; }
    std::uint64_t known() const noexcept { return known_; }

 private:
    explicit authenticator(bool with_secrets) : jwts_(with_secrets), remembered_(slots) {}
    answer judge(std::string_view token, std::int64_t now_s);
    answer judge_key(std::string_view key, std::int64_t now_s) const;

    jwt_verifier jwts_;
    std::shared_ptr<const token_list> tokens_;
    std::shared_ptr<const token_list> api_keys_;
    std::vector<identity_ref> remembered_;  // by a keyed hash of the token
    std::uint64_t judged_ = 0;
    std::uint64_t known_ = 0;
};

}  // namespace pillion::auth
