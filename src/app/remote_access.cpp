#include "app/remote_access.hpp"

#include <algorithm>

#include "auth/key_board.hpp"
#include "client/url.hpp"
#include "tls/certificate.hpp"

namespace pillion::app {

bool is_remote_source(std::string_view text) noexcept {
    return text == auth::key_source::discovered || client::looks_like_url(text);
}

bool is_safe_endpoint(std::string_view text, std::string& fault) {
    const auto where = client::parse_url(text, fault);
    if (where && !where->is_private()) {
        fault =
            "plain http is for a server on this machine: use https://, since whoever is between "
            "could answer in its name";
        return false;
    }
    return where.has_value();
}

bool is_safe_source(std::string_view text, std::string_view issuer, std::string& fault) {
    return is_safe_endpoint(text == auth::key_source::discovered ? issuer : text, fault);
}

bool is_safe_discovery(std::string_view found, std::string_view issuer) {
    std::string fault;
    const auto where = client::parse_url(found, fault);
    const auto whose = client::parse_url(issuer, fault);
    return where && whose && (where->secure || (where->is_loopback() && !whose->secure));
}

bool needs_authorities(const auth::auth_options& of) {
    const auto is_secure = [](std::string_view text) {
        std::string fault;
        const auto where = client::parse_url(text, fault);
        return where && where->secure;
    };
    if (of.introspection != nullptr && is_secure(of.introspection->endpoint)) {
        return true;
    }
    return std::any_of(of.issuers.begin(), of.issuers.end(), [&](const auto& one) {
        const bool by_issuer = one.source == auth::key_source::discovered;
        return !one.source.empty() && is_secure(by_issuer ? one.rules.issuer : one.source);
    });
}

bool are_authorities(const std::string& text, std::string& fault) {
    tls::certificate_list all;
    return all.add(text, true, fault);
}

}  // namespace pillion::app
