// epoll_backend: the same proactor over epoll, for the many places where io_uring is denied.
//
// Each descriptor is registered once, edge-triggered, and for the outward direction when something
// has to wait for it. Whatever can be tried at once is tried at once; what would block waits in the
// descriptor's record for its edge. Results are always queued and come out of turn(). Thread: see
// backend.
#pragma once

#include <memory>

#include "pillion/result.hpp"

#include "io/backend.hpp"
#include "io/backend_factory.hpp"

namespace pillion::io {

// Makes one; fails only when the process is out of descriptors or memory.
result<std::unique_ptr<backend>> make_epoll_backend(const backend_options& options);

}  // namespace pillion::io
