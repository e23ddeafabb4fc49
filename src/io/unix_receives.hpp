// unix_receives: what uring_backend knows of the unix sockets that it receives from.
//
// A multishot receive from a unix socket misses the end of stream on kernels from 6.17 on when that
// comes together with data (liburing issue 1549). So there is one only while somebody waits for the
// hang-up as well; when that comes, what is left is received in single shots, which miss nothing.
// Thread: its shard.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "io/op.hpp"

namespace pillion::io {

class unix_receives {
 public:
    struct entry {
        op* receive = nullptr;  // in flight
        bool watched = false;   // somebody waits for the hang-up
        bool ending = false;    // it has come
    };

    // Null for other sockets, and before the first receive.
    entry* at(int fd) const noexcept {
        const auto index = static_cast<std::size_t>(fd);
        return index < all_.size() ? all_[index].get() : nullptr;
    }
    // One has been submitted, and this was its final completion.
    void began(op& receive, int fd) {
        const auto index = static_cast<std::size_t>(fd);
        all_.resize(std::max(all_.size(), index + 1));
        if (all_[index] == nullptr) {
            all_[index] = std::make_unique<entry>();
        }
        all_[index]->receive = &receive;
    }
    void ended(const op& receive) noexcept {
        entry* const one = at(receive.fd);
        if (one != nullptr && one->receive == &receive) {
            one->receive = nullptr;
        }
    }
    // The descriptor is closed, and its number may be another socket's soon.
    void closed(int fd) noexcept {
        if (entry* const one = at(fd)) {
            *one = {};
        }
    }

 private:
    std::vector<std::unique_ptr<entry>> all_;  // by descriptor
};

}  // namespace pillion::io
