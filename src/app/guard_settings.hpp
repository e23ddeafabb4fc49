// guard_settings: the settings of config_keys_guard.cpp, and what must hold between them and the
// others.
//
// Thread: the one that makes the settings.
#pragma once

#include <string>

#include "app/key_reader.hpp"

namespace pillion::app {

// The list of API keys. False with a fault.
bool read_api_keys(key_reader& from, settings& to, auth::auth_options& made);
// Whether tokens of secrets count.
bool read_hs256(key_reader& from, const settings& so_far);
// Proxies, and the users of /metrics.
void read_guards(key_reader& from, settings& to);
// Whether passwords may be sent to that address of /metrics; a fault where they may not.
bool may_ask_for_passwords(key_reader& from, const io::listen_spec& spec);
// Tells the log what is only good for development.
void warn_of_insecurity(const settings& set);

}  // namespace pillion::app
