// The part of the table of configuration that is about servers which are asked about tokens.
#include "app/config_keys.hpp"

namespace pillion::app {

using enum value_type;

void add_remote_auth(config_table& to) {
    to.push_back({.section = "auth",
                  .name = "ca",
                  .flag = "--auth-ca",
                  .min = 1,
                  .help = "Authorities (PEM) of servers that are asked for keys; else the system's",
                  .live = true,
                  .http_only = true});
}

}  // namespace pillion::app
