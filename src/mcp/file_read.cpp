#include "mcp/file_read.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>

namespace pillion::mcp {

namespace {

error from_errno(int os) noexcept {
    switch (os) {
        case ENOENT:
        case ENOTDIR:
            return {errc::not_found, "no such file", os};
        case EACCES:
        case EPERM:
            return {errc::denied, "the file may not be read", os};
        default:
            return {errc::io, "the file could not be read", os};
    }
}

}  // namespace

result<void> file_read::run() noexcept {
    // O_NONBLOCK: opening a FIFO must not hang the helper thread.
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return from_errno(errno);
    }
    struct stat info{};
    result<void> outcome = ok();
    if (::fstat(fd, &info) != 0) {
        outcome = from_errno(errno);
    } else if (!S_ISREG(info.st_mode)) {
        outcome = error(errc::invalid, "not a regular file");
    } else {
        const auto size = static_cast<std::uint64_t>(info.st_size);
        const std::uint64_t rest = offset_ < size ? size - offset_ : 0;
        bytes_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(rest, bytes_max_)));
        std::size_t got = 0;
        while (got < bytes_.size()) {
            const ssize_t n = ::pread(fd, bytes_.data() + got, bytes_.size() - got,
                                      static_cast<off_t>(offset_ + got));
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n < 0) {
                outcome = from_errno(errno);
            }
            if (n <= 0) {
                break;
            }
            got += static_cast<std::size_t>(n);
        }
        bytes_.resize(got);
    }
    ::close(fd);
    return outcome;
}

}  // namespace pillion::mcp
