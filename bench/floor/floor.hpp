// floor: the least that a server on one core can do: it counts bytes until a request must be whole,
// and sends the same answer to everything. What another server needs beyond that is its own.
//
// One thread, one listening socket, no end but that of the process.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace pillion::floor {

struct plan {
    int listener = -1;
    std::string answer;
    // io_uring: what is received lies in so many buffers of this size. Those that fit the cache are
    // the fastest, and large requests want large ones.
    unsigned buffers = 256;  // a power of two
    unsigned buffer_bytes = 4096;
};

// What is known of a connection.
struct peer {
    std::size_t request = 0;  // bytes of each request; 0 before the first
    std::size_t got = 0;      // bytes of the one that is coming
    std::size_t unsent = 0;   // epoll: bytes of the answer that the socket did not take
};

// By descriptor.
class peers {
 public:
    // Forgets what was known of an earlier one.
    void add(int fd) {
        const auto at = static_cast<std::size_t>(fd);
        if (at >= all_.size()) {
            all_.resize(at * 2 + 64);
        }
        all_[at] = {};
    }
    peer& operator[](int fd) noexcept { return all_[static_cast<std::size_t>(fd)]; }

 private:
    std::vector<peer> all_;
};

[[noreturn]] inline void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

[[noreturn]] void serve_uring(const plan& how);
[[noreturn]] void serve_epoll(const plan& how);

}  // namespace pillion::floor
