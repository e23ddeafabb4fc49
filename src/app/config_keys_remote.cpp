// The part of the table of configuration that is about servers which are asked about tokens.
#include "app/config_keys.hpp"

namespace pillion::app {

void add_remote_auth(config_table& to) {
    using enum value_type;
    to.push_back({.section = "auth",
                  .name = "ca",
                  .flag = "--auth-ca",
                  .min = 1,
                  .help = "Authorities (PEM) of servers that are asked; else the system's",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "introspection",
                  .flag = "--introspection",
                  .min = 1,
                  .help = "URL of an authorization server that is asked about tokens (RFC 7662)",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "introspection_client",
                  .flag = "--introspection-client",
                  .min = 1,
                  .help = "Who asks it: an id of ours there",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "introspection_secret",
                  .flag = "--introspection-secret",
                  .variable = "PILLION_INTROSPECTION_SECRET_FILE",
                  .type = secret,
                  .min = 1,
                  .help = "secret of that id",
                  .live = true,
                  .http_only = true});
    to.push_back({.section = "auth",
                  .name = "introspection_ttl",
                  .type = duration,
                  .fallback = "60s",
                  .min = 1,
                  .help = "How long its answer counts, from 1s to 10m",
                  .live = true,
                  .http_only = true});
}

}  // namespace pillion::app
