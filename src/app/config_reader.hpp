// config_reader: the configuration file, checked key by key against the table. All faults are
// found, not the first alone; none shows a secret or what a variable held.
//
// Thread-safety: plain functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "app/config_fault.hpp"
#include "app/config_keys.hpp"
#include "app/config_value.hpp"

namespace pillion::app {

// The text of a regular file of at most so many bytes, 1 MiB where nothing is said. False with a
// fault that does not name it.
bool read_whole_file(const std::string& path, std::string& out, std::string& fault,
                     std::size_t bytes_max = 1024 * 1024);

// Reads a configuration. The values are complete, and the faults empty, when all is well; otherwise
// what is good is there beside the faults. Keys are checked one by one, settings.hpp checks them
// together.
config_values read_config(std::string_view text, const config_table& keys, const environment& from,
                          config_faults& faults);

}  // namespace pillion::app
