#include "io/uring_unread.hpp"

#include <sys/ioctl.h>
#include <atomic>

#include <liburing.h>

#include "io/op.hpp"

namespace pillion::io {

std::size_t unread_in(const ::io_uring& ring, int fd, std::uint8_t receive,
                      std::uint64_t tag_last) noexcept {
    int bytes = 0;
    if (::ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0) {
        return static_cast<std::size_t>(bytes);
    }
    const unsigned tail = std::atomic_ref<unsigned>(*ring.cq.ktail).load(std::memory_order_acquire);
    for (unsigned at = *ring.cq.khead; at != tail; ++at) {
        const io_uring_cqe& cqe = ring.cq.cqes[at & ring.cq.ring_mask];
        if (cqe.user_data > tag_last && cqe.res > 0) {
            const op& target = *reinterpret_cast<op*>(static_cast<std::uintptr_t>(cqe.user_data));
            if (target.fd == fd && target.kind == receive) {
                return static_cast<std::size_t>(cqe.res);
            }
        }
    }
    return 0;
}

}  // namespace pillion::io
