#include "auth/jwt.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "auth/claims.hpp"
#include "base/ascii.hpp"
#include "crypto/base64url.hpp"
#include "json/document.hpp"

namespace pillion::auth {

namespace {

constexpr std::size_t subject_bytes_max = 255;

std::optional<json::document> decode_object(std::string_view text) {
    const auto bytes = crypto::from_base64url(text);
    if (!bytes) {
        return std::nullopt;
    }
    json::parse_limits shallow;
    shallow.depth_max = 16;
    auto parsed = json::document::parse(*bytes, nullptr, shallow);
    if (!parsed || !parsed->root().is_object()) {
        return std::nullopt;
    }
    return std::move(*parsed);
}

// The three parts of a token, and its two objects.
struct parts {
    std::string_view signed_text;
    std::string signature;
    std::optional<json::document> header;
    std::optional<json::document> claims;

    bool read(std::string_view token) {
        const std::size_t first = token.find('.');
        const std::size_t second = first == token.npos ? first : token.find('.', first + 1);
        if (token.size() > jwt_verifier::token_bytes_max || second == token.npos) {
            return false;
        }
        signed_text = token.substr(0, second);
        auto bytes = crypto::from_base64url(token.substr(second + 1));
        header = decode_object(token.substr(0, first));
        claims = decode_object(token.substr(first + 1, second - first - 1));
        if (!bytes || !header || !claims || !has_no_twins(header->root()) ||
            !has_no_twins(claims->root())) {
            return false;
        }
        signature = std::move(*bytes);
        return true;
    }
};

std::optional<algorithm> algorithm_of(json::view header, bool with_secrets) {
    const std::string_view name = header["alg"].str();
    return name == "RS256"                   ? std::optional(algorithm::rs256)
           : name == "ES256"                 ? std::optional(algorithm::es256)
           : name == "HS256" && with_secrets ? std::optional(algorithm::hs256)
                                             : std::nullopt;
}

bool is_plain_header(json::view header) {
    for (const char* const name : {"jku", "jwk", "x5u", "x5c", "crit", "b64", "zip", "enc"}) {
        if (header[name].exists()) {
            return false;
        }
    }
    const json::view kid = header["kid"];
    const json::view type = header["typ"];
    const auto is = [&](std::string_view name) {
        return base::equals_ignore_case(type.str(), name);
    };
    // RFC 9068 §2.1, RFC 7519 §5.1.
    return (!kid.exists() || kid.is_string()) &&
           (!type.exists() || is("JWT") || is("at+jwt") || is("application/at+jwt"));
}

// What does not depend on the signature, checked behind it.
token_fault judge_claims(json::view claims, const issuer_rules& rules, std::int64_t now_s,
                         token_identity& who) {
    const auto expires = seconds_of(claims["exp"]);
    const auto issued = seconds_of(claims["iat"]);
    const auto not_before = seconds_of(claims["nbf"]);
    const std::string_view subject = claims["sub"].str();
    if (!expires || !issued || (claims["nbf"].exists() && !not_before) || subject.empty() ||
        subject.size() > subject_bytes_max || !read_scopes(claims, who.scopes)) {
        return token_fault::claims;
    }
    if (!is_for(claims["aud"], rules.audiences)) {
        return token_fault::audience;
    }
    const auto now = static_cast<double>(now_s);
    constexpr auto skew = static_cast<double>(jwt_verifier::skew_s);
    if (now >= *expires + skew) {
        return token_fault::expired;
    }
    if ((not_before && now < *not_before - skew) || now < *issued - skew) {
        return token_fault::not_yet;
    }
    who.issuer = rules.issuer;
    who.subject = subject;
    who.expires_s = static_cast<std::int64_t>(*expires);
    return token_fault::none;
}

}  // namespace

std::string_view words_of(token_fault what) noexcept {
    switch (what) {
        case token_fault::none:
            return "";
        case token_fault::malformed:
            return "the token is malformed";
        case token_fault::algorithm:
            return "the token is signed by an algorithm that is not accepted";
        case token_fault::header:
            return "the token has a header that is not accepted";
        case token_fault::issuer:
            return "the issuer of the token is not known";
        case token_fault::unknown_key:
            return "the key of the token is not known";
        case token_fault::no_keys:
            return "the keys of the issuer cannot be had";
        case token_fault::signature:
            return "the signature of the token is wrong";
        case token_fault::audience:
            return "the token is meant for another audience";
        case token_fault::expired:
            return "the token has expired";
        case token_fault::not_yet:
            return "the token is not valid yet";
        case token_fault::claims:
            return "a claim of the token is missing or wrong";
        case token_fault::unknown:
            return "the key is on no list";
        case token_fault::inactive:
            return "the token is not active";
        case token_fault::unasked:
            return "the authorization server has to be asked";
    }
    return "";
}

void jwt_verifier::add(issuer_rules rules, std::unique_ptr<jwk_set> keys) {
    all_.push_back({std::move(rules), std::move(keys)});
}

bool jwt_verifier::trusts(std::string_view issuer) const noexcept {
    return std::any_of(all_.begin(), all_.end(),
                       [issuer](const one_issuer& one) { return one.rules.issuer == issuer; });
}

jwt_verifier::outcome jwt_verifier::check(std::string_view token, std::int64_t now_s) {
    outcome out;
    out.issuer = SIZE_MAX;
    const auto refuse = [&out](token_fault why) {
        out.fault = why;
        out.who = {};
        return std::move(out);
    };
    parts all;
    if (!all.read(token)) {
        return refuse(token_fault::malformed);
    }
    const json::view header = all.header->root();
    const json::view claims = all.claims->root();
    // First: what tokens of others look like is for others to judge (auth/authenticator).
    const std::string_view issuer = claims["iss"].str();
    const auto found = std::find_if(all_.begin(), all_.end(), [issuer](const one_issuer& one) {
        return one.rules.issuer == issuer;
    });
    if (issuer.empty() || found == all_.end()) {
        return refuse(token_fault::issuer);
    }
    out.issuer = static_cast<std::size_t>(found - all_.begin());
    const auto by = algorithm_of(header, with_secrets_);
    if (!by) {
        return refuse(token_fault::algorithm);
    }
    if (!is_plain_header(header)) {
        return refuse(token_fault::header);
    }
    const std::string_view key_id = header["kid"].str();
    const bool names_key = header["kid"].exists();
    if (found->keys == nullptr) {
        return refuse(token_fault::no_keys);
    }
    if (names_key && !found->keys->knows(key_id)) {
        return refuse(token_fault::unknown_key);
    }
    if (!found->keys->verify(names_key ? &key_id : nullptr, *by, all.signed_text, all.signature)) {
        return refuse(token_fault::signature);
    }
    const token_fault wrong = judge_claims(claims, found->rules, now_s, out.who);
    if (wrong != token_fault::none) {
        return refuse(wrong);
    }
    return out;
}

}  // namespace pillion::auth
