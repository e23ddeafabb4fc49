// introspection: what an authorization server says of an opaque token (RFC 7662).
//
// Thread-safety: plain functions, immutable rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "auth/jwt.hpp"

namespace pillion::auth {

struct introspection_rules {
    static constexpr std::size_t answer_bytes_max = 64 * 1024;

    std::string endpoint;
    std::string authorization;           // how we show who we are, as the field has it
    std::vector<std::string> audiences;  // one of them must be in `aud`, where that is said
    std::int64_t remembered_s = 60;      // how long an answer counts

    introspection_rules() = default;
    introspection_rules(introspection_rules&&) noexcept = default;
    introspection_rules& operator=(introspection_rules&&) = delete;
    ~introspection_rules();  // wipes the secret
};

struct introspection_answer {
    // False: no answer, or one that cannot be understood: nobody knows whose token it is.
    bool understood = false;
    token_fault why = token_fault::none;  // nobody's, for this reason
    std::string principal;
    std::vector<std::string> scopes;
    std::int64_t good_until_s = 0;  // seconds since 1970: then it is asked about again
    std::int64_t ends_s =
        INT64_MAX;  // … the token itself is over; INT64_MAX: never, as far as known
};

// The value of Authorization for a client that has a secret (RFC 6749 §2.3.1).
std::string basic_authorization(std::string_view client, std::string_view secret);

// What is posted to ask about a token, as a form.
std::string introspection_form(std::string_view token);

// Reads an answer at a time in seconds since 1970. The principal is "introspected:ISSUER|SUBJECT",
// or "introspected-client:ISSUER|CLIENT" for a token of nobody but a client; where the answer names
// no issuer, the endpoint stands for it. No JWT has such a principal, since issuers are URLs.
introspection_answer read_introspection(std::string_view text, const introspection_rules& rules,
                                        std::int64_t now_s);

}  // namespace pillion::auth
