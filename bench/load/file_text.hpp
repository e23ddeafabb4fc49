// file_text: what a file holds that a user named. Thread-safety: pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace pillion::load {

inline constexpr std::size_t text_bytes_max = std::size_t{16} << 20U;

// nullopt, with `why` in words that name the file: it holds more than `bytes_max`, as a device that
// never ends, or cannot be read, as a directory, which can be opened and no more.
std::optional<std::string> read_text(const std::string& path, std::string& why,
                                     std::size_t bytes_max = text_bytes_max);

}  // namespace pillion::load
