#include "auth/introspection.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "auth/claims.hpp"
#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/number.hpp"
#include "crypto/key_ring.hpp"
#include "json/document.hpp"

namespace pillion::auth {

namespace {

constexpr std::size_t member_name_bytes_max = 255;

// As a value of a form (RFC 6749 appendix B).
void add_encoded(std::string& to, std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (const char c : text) {
        if (base::is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
            to += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            to += '%';
            to += digits[byte >> 4U];
            to += digits[byte & 15U];
        }
    }
}

// A member that may be missing, else must be a text that can be part of a principal.
std::optional<std::string_view> name_of(json::view member) {
    const std::string_view text = member.str();
    if (!member.exists()) {
        return std::string_view();
    }
    if (!member.is_string() || text.empty() || text.size() > member_name_bytes_max) {
        return std::nullopt;
    }
    return text;
}

token_fault judge(json::view said, const introspection_rules& rules, std::int64_t now_s,
                  introspection_answer& to) {
    const auto expires = seconds_of(said["exp"]);
    const auto not_before = seconds_of(said["nbf"]);
    const auto issuer = name_of(said["iss"]);
    const auto subject = name_of(said["sub"]);
    const auto client = name_of(said["client_id"]);
    const bool times_good =
        (!said["exp"].exists() || expires) && (!said["nbf"].exists() || not_before);
    if (!times_good || !issuer || issuer->find('|') != issuer->npos || !subject || !client ||
        (subject->empty() && client->empty()) || !read_scopes(said, to.scopes)) {
        return token_fault::claims;
    }
    if (said["aud"].exists() && !is_for(said["aud"], rules.audiences)) {
        return token_fault::audience;
    }
    const auto now = static_cast<double>(now_s);
    if (expires && now >= *expires) {
        return token_fault::expired;
    }
    if (not_before && now < *not_before - static_cast<double>(jwt_verifier::skew_s)) {
        return token_fault::not_yet;
    }
    to.principal = subject->empty() ? "introspected-client:" : "introspected:";
    to.principal += issuer->empty() ? std::string_view(rules.endpoint) : *issuer;
    to.principal += '|';
    to.principal += subject->empty() ? *client : *subject;
    to.good_until_s = now_s + rules.remembered_s;
    if (expires) {
        to.ends_s = base::round_up(*expires);
        to.good_until_s = std::min(to.good_until_s, to.ends_s);
    }
    return token_fault::none;
}

}  // namespace

introspection_rules::~introspection_rules() {
    crypto::wipe(authorization.data(), authorization.size());
}

std::string basic_authorization(std::string_view client, std::string_view secret) {
    std::string pair;
    add_encoded(pair, client);
    pair += ':';
    add_encoded(pair, secret);
    std::string out = "Basic ";
    const std::size_t begin = out.size();
    out.resize(begin + base::base64::encoded_size(pair.size()));
    base::base64::encode(pair, out.data() + begin);
    crypto::wipe(pair.data(), pair.size());
    return out;
}

std::string introspection_form(std::string_view token) {
    std::string out = "token_type_hint=access_token&token=";
    // All that it can become, so that no copy of it is left in memory.
    out.reserve(out.size() + 3 * token.size());
    add_encoded(out, token);
    return out;
}

introspection_answer read_introspection(std::string_view text, const introspection_rules& rules,
                                        std::int64_t now_s) {
    introspection_answer out;
    json::parse_limits shallow;
    shallow.depth_max = 16;
    if (text.size() > introspection_rules::answer_bytes_max) {
        return out;
    }
    const auto parsed = json::document::parse(text, nullptr, shallow);
    if (!parsed || !parsed->root().is_object() || !has_no_twins(parsed->root()) ||
        !parsed->root()["active"].is_bool()) {
        return out;
    }
    out.understood = true;
    out.why = parsed->root()["active"].boolean() ? judge(parsed->root(), rules, now_s, out)
                                                 : token_fault::inactive;
    return out;
}

}  // namespace pillion::auth
