// file_read: one bounded read of a regular file, for context::read_file. Blocking: runs on a helper
// thread. Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pillion/result.hpp>

namespace pillion::mcp {

class file_read {
 public:
    file_read(std::string path, std::uint64_t offset, std::size_t bytes_max)
        : path_(std::move(path)), offset_(offset), bytes_max_(bytes_max) {}

    // Reads; errors: not_found, denied, invalid (no regular file), io.
    result<void> run() noexcept;
    // What was read. REQUIRES: run() succeeded.
    std::string_view bytes() const noexcept { return bytes_; }

 private:
    std::string path_;
    std::uint64_t offset_;
    std::size_t bytes_max_;
    std::string bytes_;
};

}  // namespace pillion::mcp
