#include "io/uring_files.hpp"

#include <sys/resource.h>
#include <algorithm>

#include <liburing.h>

namespace pillion::io {

void uring_files::open(::io_uring& ring) noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    // The kernel refuses a table that is larger than the process may have descriptors.
    const std::size_t room = std::min<std::size_t>(limit.rlim_cur, descriptors_max);
    if (io_uring_register_files_sparse(&ring, static_cast<unsigned>(room)) == 0) {
        room_ = room;
    }
}

bool uring_files::add(::io_uring& ring, int fd) noexcept {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= room_ || known_[index]) {
        return false;
    }
    known_[index] = io_uring_register_files_update(&ring, static_cast<unsigned>(fd), &fd, 1) == 1;
    return true;
}

}  // namespace pillion::io
