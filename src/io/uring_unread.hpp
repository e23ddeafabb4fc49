// uring_unread: what a socket has received and no completion has told of yet: in the system, or,
// where the kernel has received it for us in the meantime, in completions that were not fetched.
// Without DEFER_TASKRUN every system call may be where it does so.
//
// Thread: the ring's.
#pragma once

#include <cstddef>
#include <cstdint>

struct io_uring;

namespace pillion::io {

// `receive` is the kind of ops that receive; user_data up to `tag_last` are of no op.
std::size_t unread_in(const ::io_uring& ring, int fd, std::uint8_t receive,
                      std::uint64_t tag_last) noexcept;

}  // namespace pillion::io
