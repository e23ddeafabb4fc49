// backend_factory: picks the best backend this kernel and container allow, and says why.
//
// Call it on the thread that will run the reactor (io_uring binds a ring to its thread).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "pillion/result.hpp"

#include "base/limits.hpp"
#include "io/backend.hpp"

namespace pillion::io {

// `automatic`: io_uring, or epoll when the system denies it. The others insist.
enum class backend_mode : std::uint8_t { automatic, uring, epoll };

// A shard's rings and buffers. Tests use small ones.
struct backend_options {
    unsigned submission_entries = 256;
    unsigned completion_entries = 2048;
    std::size_t recv_buffers = limits::recv_buffers;  // a power of two
    std::size_t recv_buffer_bytes = limits::recv_buffer_bytes;
    // A turn after one of many may wait 100 us for company, where the kernel can: for servers, not
    // for who measures.
    bool waits_for_company = false;
};

// Makes a backend. `note` becomes one line for the log when `automatic` fell back ("epoll
// (io_uring_setup: EPERM; …)"), else it is left empty.
result<std::unique_ptr<backend>> make_backend(backend_mode mode, std::string& note,
                                              const backend_options& options = {});

}  // namespace pillion::io
