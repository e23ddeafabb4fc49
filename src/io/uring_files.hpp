// uring_files: sockets that a ring knows by their descriptor's number, so that their sends need not
// look the descriptor up, whose references the kernel counts by atomic operations, each in a line
// of its own.
//
// The ring holds a socket open for as long as it knows it: whoever closes the descriptor has the
// ring forget it in the same submission, before the number can be another socket's.
// Thread: the ring's.
#pragma once

#include <bitset>
#include <cstddef>

struct io_uring;

namespace pillion::io {

class uring_files {
 public:
    // Descriptors from here on are looked up for each send, as all are where the kernel has no room
    // or is older than 5.19. A table takes 8 bytes of the kernel's memory for each number.
    static constexpr std::size_t descriptors_max = 16 * 1024;

    // Once, before any other call.
    void open(::io_uring& ring) noexcept;

    // Makes `fd` known. Whether that took a system call: not when it is known already, nor when it
    // cannot be.
    bool add(::io_uring& ring, int fd) noexcept;

    // Whether a submission may name `fd` as one of the ring's own.
    bool has(int fd) const noexcept {
        const auto index = static_cast<std::size_t>(fd);
        return index < descriptors_max && known_[index];
    }

    // Whether it was known; then the caller has the ring close its number.
    bool forget(int fd) noexcept {
        const bool had = has(fd);
        if (had) {
            known_.reset(static_cast<std::size_t>(fd));
        }
        return had;
    }

 private:
    std::size_t room_ = 0;
    std::bitset<descriptors_max> known_;
};

}  // namespace pillion::io
