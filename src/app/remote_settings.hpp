// remote_settings: the settings of servers that are asked about tokens, made from configuration.
//
// Thread-safety: plain functions; any thread that may read files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/settings.hpp"

namespace pillion::app {

// Where values come from, and faults go.
struct value_source {
    std::function<const config_value&(key_id)> of;
    // The text of the file that a key names. False: a fault was added.
    std::function<bool(key_id, std::string&)> read_file;
    // A secret: the value, or the text of the file it names. The same.
    std::function<bool(key_id, std::string&)> read_secret;
    std::function<void(key_id, const std::string&)> fault;
};

// Adds to `made` who is to be asked about tokens. False with faults.
bool read_introspection_settings(const value_source& from,
                                 const std::vector<std::string>& audiences,
                                 auth::auth_options& made);

// Whom requests of ours believe. False with faults.
bool read_authorities(const value_source& from, const auth::auth_options& made, settings& to);

}  // namespace pillion::app
