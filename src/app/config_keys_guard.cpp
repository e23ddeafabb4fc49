// The keys of who is let in and what is kept from leaking that came later than their sections.
#include "app/config_keys_access.hpp"
#include "http/proxies.hpp"

namespace pillion::app {

void add_guards(config_table& to) {
    using enum value_type;
    to.push_back({.section = "auth",
                  .name = "api_keys",
                  .flag = "--api-keys",
                  .variable = "PILLION_API_KEYS_FILE",
                  .min = 1,
                  .help = "File of keys for X-API-Key: lines of a name and the key's SHA-256",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "insecure_hs256",
                  .flag = "--insecure-hs256",
                  .type = boolean,
                  .fallback = "false",
                  .help = "Take tokens of secrets (HS256), too: whoever checks one can make one",
                  .live = true,
                  .http_only = true});
    to.push_back(
        {.section = "http",
         .name = "trusted_proxies",
         .flag = "--trusted-proxies",
         .type = text_list,
         .min = 1,
         .is_valid = http::proxy_list::is_valid,
         .expected = "an address, a network (10.0.0.0/8) or unix",
         .help = "Proxies whose Forwarded or X-Forwarded-Proto is believed: addresses, unix",
         .live = true,
         .http_only = true});
    to.push_back({.section = "metrics",
                  .name = "users",
                  .flag = "--metrics-users",
                  .variable = "PILLION_METRICS_USERS_FILE",
                  .min = 1,
                  .help = "File of users who may read /metrics (Basic): lines of token password",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "server",
                  .name = "core_dumps",
                  .flag = "--core-dumps",
                  .type = boolean,
                  .fallback = "false",
                  .help = "Let the system write core dumps, and others of this user look inside"});
}

}  // namespace pillion::app
