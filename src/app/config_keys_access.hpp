// config_keys_access: the parts of the table of keys that say who gets in. Thread-safety: plain
// functions.
#pragma once

#include <string>

#include "app/config_keys.hpp"

namespace pillion::app {

// Append their keys, in the order of key_id.
void add_tls(config_table& to);
void add_auth(config_table& to);
void add_guards(config_table& to);  // config_keys_guard.cpp

// "scopes" of a tool, a prompt, …; `section` is what faults call these.
config_key scopes_key(const std::string& section);

}  // namespace pillion::app
