// The keys of who gets in: certificates, tokens, scopes (a part of app/config_keys.hpp).
#include "app/config_keys_access.hpp"

#include <algorithm>
#include <string_view>

#include "auth/scopes.hpp"
#include "http/origin.hpp"

namespace pillion::app {

namespace {

bool is_scope(std::string_view text) { return auth::is_scope(text); }

// Scheme, host and port, without a path.
bool is_base_url(std::string_view text) {
    return (text.starts_with("https://") || text.starts_with("http://")) &&
           http::is_valid_origin_entry(text);
}

bool is_issuer(std::string_view text) {
    return (text.starts_with("https://") || text.starts_with("http://")) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return c > ' ' && c < '\x7f' && c != '|' && c != '"'; });
}

}  // namespace

// Files, read at the start and at each reload.
void add_tls(config_table& to) {
    to.push_back({.section = "tls",
                  .name = "cert",
                  .flag = "--tls-cert",
                  .type = value_type::text_list,
                  .min = 1,
                  .help = "Certificate chain (PEM): TCP addresses then speak https; repeatable",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "tls",
                  .name = "key",
                  .flag = "--tls-key",
                  .variable = "PILLION_TLS_KEY_FILE",
                  .type = value_type::text_list,
                  .min = 1,
                  .help = "Private key of each certificate, in the same order",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "tls",
                  .name = "client_ca",
                  .flag = "--tls-client-ca",
                  .min = 1,
                  .help = "Authorities (PEM) of the certificates that clients must then show",
                  .live = true,
                  .http_only = true});
}

// Bearer tokens. Files, read at the start and at each reload.
void add_auth(config_table& to) {
    to.push_back({.section = "auth",
                  .name = "issuer",
                  .flag = "--oidc-issuer",
                  .type = value_type::text_list,
                  .min = 1,
                  .is_valid = is_issuer,
                  .expected = "the URL of an issuer",
                  .help = "Issuer of tokens (JWT), exactly as their iss has it; repeatable",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "jwks",
                  .flag = "--oidc-jwks",
                  .type = value_type::text_list,
                  .min = 1,
                  .help = "File or URL of each issuer's keys (a JSON Web Key Set), or discover",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "audience",
                  .flag = "--oidc-audience",
                  .type = value_type::text_list,
                  .min = 1,
                  .help = "What aud of a token must have, one of them",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "tokens",
                  .flag = "--auth-tokens",
                  .variable = "PILLION_AUTH_TOKENS_FILE",
                  .min = 1,
                  .help = "File of opaque tokens: lines of a name and the token's SHA-256",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "scopes",
                  .flag = "--oidc-scopes",
                  .type = value_type::text_list,
                  .min = 1,
                  .is_valid = is_scope,
                  .expected = "a scope: visible ASCII characters, no \" and no \\",
                  .help = "Scopes that clients should ask their issuer for at first",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "external_url",
                  .flag = "--external-url",
                  .min = 1,
                  .is_valid = is_base_url,
                  .expected = "https://host[:port] or http://host[:port]",
                  .help = "How clients see the server, for what it says of itself",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "insecure_plain_tokens",
                  .flag = "--insecure-plain-tokens",
                  .type = value_type::boolean,
                  .fallback = "false",
                  .help = "Take tokens from other machines over plain HTTP",
                  .http_only = true});
}

config_key scopes_key(const std::string& section) {
    return {.section = section,
            .name = "scopes",
            .type = value_type::text_list,
            .min = 1,
            .pattern = "^[!#-\\[\\]-~]{1,128}$",
            .is_valid = is_scope,
            .expected = "a scope: visible ASCII characters, no \" and no \\",
            .help = "Scopes"};
}

}  // namespace pillion::app
