// file_text: what a file holds that a user named. Thread-safety: pure.
#pragma once

#include <optional>
#include <string>

namespace pillion::load {

// nullopt: it cannot be read, as a directory, which can be opened and no more.
std::optional<std::string> read_text(const std::string& path);

}  // namespace pillion::load
