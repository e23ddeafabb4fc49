// uring_send: how io_uring is asked for a send: in one piece or gathered, whole unless it is large.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>
#include <cstddef>
#include <cstdint>

#include "io/op.hpp"
#include "io/uring_abi.hpp"

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

// Fills in what is sent and how. `header` must live until the submission (SUBMIT_STABLE).
// Submission: io_uring_sqe, which no header knows.
template <class Submission>
void prepare_send(Submission& sqe, const transfer_op& what, msghdr& header) noexcept {
    const auto* parts = reinterpret_cast<const iovec*>(what.memory);
    const auto count = static_cast<std::size_t>(what.size);
    sqe.msg_flags = send_flags(parts, count);
    if (count == 1) {
        sqe.addr = uring_abi::to_number(parts->iov_base);
        sqe.len = static_cast<std::uint32_t>(parts->iov_len);
        return;
    }
    header = {};
    header.msg_iov = const_cast<iovec*>(parts);
    header.msg_iovlen = count;
    sqe.opcode = uring_abi::op_sendmsg;
    sqe.addr = uring_abi::to_number(&header);
    sqe.len = 1;
}

}  // namespace pillion::io
