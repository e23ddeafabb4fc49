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

#include "auth/identity.hpp"
#include "auth/identity_cache.hpp"
#include "auth/introspection.hpp"
#include "auth/jwt.hpp"
#include "auth/key_board.hpp"
#include "auth/scopes.hpp"
#include "auth/token_list.hpp"

namespace pillion::auth {

struct auth_options {
    struct issuer {
        issuer_rules rules;
        std::string keys;      // the text of its key set
        std::string source{};  // where that is fetched from instead (key_source); empty: it is not
    };
    std::vector<issuer> issuers;
    std::shared_ptr<const token_list> tokens;    // may be null
    std::shared_ptr<const token_list> api_keys;  // of X-API-Key; null: the header means nothing
    bool with_secrets = false;                   // HS256, for development
    std::shared_ptr<const introspection_rules> introspection;  // null: nobody is asked
    // What those may use for whom the system or a certificate vouches; none: everything. Where
    // there are some, whoever is not among them is not let in.
    struct grant {
        std::string principal;
        bool limited = false;  // to the scopes, which have blanks between them
        std::string scopes;

        bool operator==(const grant&) const = default;
    };
    std::vector<grant> grants;
    // What a client should ask its issuer for at first; none: all that are needed for something.
    scope_list first_scopes;

    // Whether a credential of a request lets anybody in.
    bool any() const noexcept {
        return !issuers.empty() || tokens != nullptr || api_keys != nullptr ||
               introspection != nullptr;
    }
};

class authenticator {
 public:
    // How long a token is believed without another look (STANDARD row 53: keys are cached ≤ 10
    // min).
    static constexpr std::int64_t remembered_s = 600;
    // Tokens remembered at a time; the one that was shown longest ago makes room.
    static constexpr std::size_t slots = 1024;

    // Null with a fault, whose `index` is that of the issuer. `board`: where keys that are fetched
    // are published; without it there are none.
    static std::unique_ptr<authenticator> make(const auth_options& options, std::string& fault,
                                               std::size_t& index,
                                               std::shared_ptr<key_board> board = nullptr);

    struct answer {
        identity_ref who;                     // null: nobody
        token_fault why = token_fault::none;  // … for this reason
        std::size_t issuer = SIZE_MAX;        // whose token it says it is
    };
    // Judges a token at a time in seconds since 1970.
    answer check(std::string_view token, std::int64_t now_s,
                 credential shown_as = credential::bearer);

    // Who it was found to be a while ago, where that still holds; null: it has to be judged.
    identity_ref recall(std::string_view token, std::int64_t now_s,
                        credential shown_as = credential::bearer);
    // False where a list said so, and it is not in the present one, or not like that; or an issuer
    // that is not trusted any more. The token itself is not looked at again.
    bool still_vouches_for(const identity& who) const;

    // Takes over the keys that were published since; what the old ones of an issuer have said is
    // forgotten. Whether there were any.
    bool take_keys();
    // A token of that issuer names a key that is not known: whether to wait for take_keys().
    bool want_keys(std::size_t issuer, std::int64_t now_ns);

    // What an authorization server has said of a token that was `unasked`.
    void learn(std::string_view token, introspection_answer said, std::int64_t now_s);

    // Tokens that were judged, and those that were known.
    std::uint64_t judged() const noexcept { return judged_; }
    std::uint64_t known() const noexcept { return known_; }

 private:
    explicit authenticator(bool with_secrets) : jwts_(with_secrets), with_secrets_(with_secrets) {}
    answer judge(std::string_view token, std::int64_t now_s, credential shown_as);
    identity_ref listed(std::string_view token, std::int64_t now_s, credential shown_as) const;

    // A token that an authorization server refused a moment ago, by its keyed hash: who sends it
    // again and again asks nobody.
    struct refusal {
        std::uint64_t hash = 0;
        std::int64_t until_s = 0;
        token_fault why = token_fault::none;
    };
    static constexpr std::int64_t refused_s = 5;
    answer judge_opaque(std::string_view token, std::int64_t now_s) const;

    // The set of an issuer that is fetched, and which text it was made from.
    struct fetched_keys {
        std::size_t issuer;
        key_source source;
        key_board::text held;
    };
    bool take(fetched_keys& one);

    jwt_verifier jwts_;
    std::shared_ptr<key_board> board_;
    std::vector<fetched_keys> fetched_;
    std::vector<refusal> refused_;  // by that hash; empty where nobody is asked
    bool has_issuers_ = false;
    bool with_secrets_;
    std::shared_ptr<const token_list> tokens_;
    std::shared_ptr<const token_list> api_keys_;
    identity_cache remembered_{slots};
    std::uint64_t judged_ = 0;
    std::uint64_t known_ = 0;
};

}  // namespace pillion::auth
