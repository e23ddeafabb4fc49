// init_command: the command that writes a configuration to begin with. Every line of it that is
// commented out without a blank behind the # is a setting: it may be taken in as it is.
//
// Thread: the main one.
#pragma once

#include <string>
#include <vector>

#include "app/server_state.hpp"

namespace pillion::app {

inline constexpr const char* starter_name = "pillion.yaml";

// The text for a server of this name with these options of its own.
std::string starter_configuration(const std::string& program, const std::string& file,
                                  const std::vector<detail::own_option>& own);

// Writes it to the file that `arguments` name ("-": stdout), which must not be there yet.
int run_init(const std::string& program, const std::vector<detail::own_option>& own,
             const std::vector<std::string>& arguments);

}  // namespace pillion::app
