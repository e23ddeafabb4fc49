#include "app/guard_settings.hpp"

#include <utility>

#include "base/log.hpp"
#include "io/socket.hpp"

namespace pillion::app {

bool read_api_keys(key_reader& from, settings& to, auth::auth_options& made) {
    std::string text;
    std::string why;
    if (!from.given(key_id::auth_api_keys)) {
        return true;
    }
    if (!from.read_file(key_id::auth_api_keys, 0, to, text)) {
        return false;
    }
    auto read = auth::token_list::parse(text, why);
    if (!read) {
        from.fault(key_id::auth_api_keys, 0, why);
        return false;
    }
    made.api_keys = std::make_shared<const auth::token_list>(std::move(*read));
    return true;
}

bool read_hs256(key_reader& from, const settings& so_far) {
    const bool wanted = from.flag(key_id::insecure_hs256);
    // STANDARD row 53: for development.
    if (wanted && so_far.profile == server_profile::corporate) {
        from.fault(key_id::insecure_hs256, 0, "the corporate profile takes no tokens of secrets");
    }
    return wanted;
}

void read_guards(key_reader& from, settings& to) {
    for (const std::string& one : from.of(key_id::trusted_proxies).texts) {
        to.trusted_proxies.add(one);
    }
    std::string text;
    std::string why;
    if (!from.given(key_id::metrics_users)) {
        return;
    }
    if (!from.given(key_id::metrics_listen)) {
        from.fault(key_id::metrics_users, 0, "needs --metrics-listen (metrics.listen)");
        return;
    }
    if (from.read_file(key_id::metrics_users, 0, to, text)) {
        auto read = auth::user_list::parse(text, why);
        if (!read) {
            from.fault(key_id::metrics_users, 0, why);
            return;
        }
        to.metrics_users = std::make_shared<const auth::user_list>(std::move(*read));
    }
}

// STANDARD row 44: Basic over HTTPS only; what stays on this machine nobody else can hear.
bool may_ask_for_passwords(key_reader& from, const io::listen_spec& spec) {
    const bool good = spec.scheme == io::listen_scheme::https || io::is_loopback(spec);
    if (!good) {
        from.fault(key_id::metrics_listen, 0,
                   "refusing to take passwords from other machines over plain HTTP; use https "
                   "(--tls-cert and --tls-key) or a loopback address");
    }
    return good;
}

void warn_of_insecurity(const settings& set) {
    if (set.access != nullptr && set.access->with_secrets) {
        log::warn("auth.insecure_hs256", {log::kv("means",
                                                  "tokens of secrets are taken: "
                                                  "for development only")});
    }
}

}  // namespace pillion::app
