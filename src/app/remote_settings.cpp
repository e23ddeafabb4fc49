#include "app/remote_settings.hpp"

#include <utility>

#include "app/remote_access.hpp"
#include "client/lookup.hpp"
#include "crypto/key_ring.hpp"

namespace pillion::app {

namespace {

// STANDARD row 53: nothing that others said counts for longer.
constexpr std::int64_t remembered_ms_max = 600'000;

}  // namespace

bool read_introspection_settings(key_reader& from, const std::vector<std::string>& audiences,
                                 auth::auth_options& made, settings& to) {
    const auto refuse = [&from](key_id id, const std::string& why) {
        from.fault(id, 0, why);
        return false;
    };
    for (const key_id id : {key_id::introspection_client, key_id::introspection_secret}) {
        if (from.given(id) != from.given(key_id::introspection)) {
            return refuse(from.given(id) ? id : key_id::introspection,
                          "auth.introspection, auth.introspection_client and "
                          "auth.introspection_secret need each other");
        }
    }
    if (!from.given(key_id::introspection)) {
        return true;
    }
    auth::introspection_rules rules;
    std::string why;
    rules.endpoint = from.text(key_id::introspection);
    if (!is_safe_endpoint(rules.endpoint, why)) {
        return refuse(key_id::introspection, why);
    }
    if (from.given(key_id::introspection_ttl)) {
        const std::int64_t ms = from.of(key_id::introspection_ttl).number;
        if (ms < 1000 || ms > remembered_ms_max) {
            return refuse(key_id::introspection_ttl, "must be from 1s to 10m");
        }
        rules.remembered_s = ms / 1000;
    }
    rules.audiences = audiences;
    std::string secret;
    if (!from.read_secret(key_id::introspection_secret, to, secret)) {
        return false;
    }
    const bool empty = secret.empty();
    rules.authorization =
        auth::basic_authorization(from.text(key_id::introspection_client), secret);
    crypto::wipe(secret.data(), secret.size());
    if (empty) {
        return refuse(key_id::introspection_secret, "the secret is empty");
    }
    made.introspection = std::make_shared<const auth::introspection_rules>(std::move(rules));
    return true;
}

bool read_authorities(key_reader& from, const auth::auth_options& made, settings& to) {
    std::string text;
    std::string why;
    if (from.given(key_id::auth_ca)) {
        if (!from.read_file(key_id::auth_ca, 0, to, text)) {
            return false;
        }
    } else if (!needs_authorities(made)) {
        return true;
    } else if (!client::read_system_authorities(text)) {
        from.fault(made.introspection != nullptr ? key_id::introspection : key_id::auth_jwks, 0,
                   "no certificate authorities are installed here: name them with --auth-ca "
                   "(auth.ca)");
        return false;
    }
    if (!are_authorities(text, why)) {
        from.fault(key_id::auth_ca, 0, "the file " + why);
        return false;
    }
    to.authorities = std::make_shared<const std::string>(std::move(text));
    return true;
}

}  // namespace pillion::app
