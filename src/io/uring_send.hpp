// send_flags: how io_uring is asked for a send: whole, unless it is large.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>
#include <cstddef>
#include <cstdint>

namespace pillion::io {

// With MSG_WAITALL the kernel goes on until all has gone and says nothing before. Of more than this
// a slow reader takes some for so long that it would be taken for one that reads nothing.
inline constexpr std::size_t whole_send_bytes_max = 64 * 1024;

inline std::uint32_t send_flags(const iovec* parts, std::size_t count) noexcept {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        bytes += parts[i].iov_len;
    }
    std::uint32_t flags = MSG_NOSIGNAL;
    if (bytes <= whole_send_bytes_max) {
        flags |= MSG_WAITALL;
    }
    return flags;
}

}  // namespace pillion::io
