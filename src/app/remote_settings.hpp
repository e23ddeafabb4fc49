// remote_settings: the settings of servers that are asked about tokens, made from configuration.
//
// Thread-safety: plain functions; any thread that may read files.
#pragma once

#include <string>
#include <vector>

#include "app/key_reader.hpp"
#include "app/settings.hpp"

namespace pillion::app {

// Adds to `made` who is to be asked about tokens. False with faults.
bool read_introspection_settings(key_reader& from, const std::vector<std::string>& audiences,
                                 auth::auth_options& made, settings& to);

// Whom requests of ours believe. False with faults.
bool read_authorities(key_reader& from, const auth::auth_options& made, settings& to);

}  // namespace pillion::app
