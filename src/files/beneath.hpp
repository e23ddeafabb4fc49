// beneath: opening files so that the kernel keeps them inside a directory.
//
// openat2 with RESOLVE_BENEATH refuses ".." and symbolic links that leave the directory while it
// resolves the path, so nobody can swap a component in between; without openat2 there is no safe
// way and nothing is opened. Links whose target stays inside are followed. Also the reading of one
// directory in sorted portions.
//
// Ownership: unique_fd closes its descriptor. Thread-safety: any thread; calls block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pillion/result.hpp>

namespace pillion::files {

// A file descriptor with an owner.
class unique_fd {
 public:
    unique_fd() noexcept = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~unique_fd();

    // The descriptor, -1 when there is none.
    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    // Gives the descriptor up to the caller.
    int release() noexcept { return std::exchange(fd_, -1); }

 private:
    int fd_ = -1;
};

enum class links : std::uint8_t { follow, refuse };

// Opens `path` (valid_path(), empty for the directory itself) beneath `root_fd` with open(2)
// `flags`; O_CLOEXEC is added. `how` says whether symbolic links inside are followed. Negative
// errno on failure; no heap beyond the copy of the path.
int open_beneath(int root_fd, std::string_view path, int flags, links how);

// The errno of a failed access as an error that is safe to show.
error access_error(int os_errno) noexcept;

// A name in a directory and its type as readdir(3) tells it (DT_…).
struct raw_name {
    std::string name;
    unsigned char type = 0;
};

struct name_batch {
    std::vector<raw_name> names;  // sorted by bytes
    std::size_t scanned = 0;      // names looked at
    bool more = false;            // there are further names behind the last
};

// The first `count` names after `after` (bytewise; empty: from the start) of the directory opened
// as `fd`, which is used up. Names that are no valid_name(), types that are never served (sockets,
// FIFOs, devices) and, unless `hidden`, names that begin with a dot are left out. Holds no more
// than `count` + 1 names at a time, however large the directory is.
result<name_batch> read_names(unique_fd fd, std::string_view after, std::size_t count, bool hidden);

}  // namespace pillion::files
