// uring_backend: the io_uring implementation of backend. One io_uring_enter per turn submits,
// waits and runs the kernel's deferred work; receives and accepts are multishot.
//
// The class is private to its source file, so that liburing does not leak. Thread: see backend.
#pragma once

#include <memory>
#include <string>

#include "pillion/result.hpp"

#include "io/backend.hpp"
#include "io/backend_factory.hpp"

namespace pillion::io {

// Features to do without although the kernel has them, so that tests can walk the paths of
// older kernels.
struct uring_restrictions {
    bool no_defer_taskrun = false;
    bool no_multishot = false;
    bool no_shared_buffers = false;  // each receive takes one of its own
    bool no_registered_files = false;
};

// Makes one, or explains in `why` (one line) what the system denied.
result<std::unique_ptr<backend>> make_uring_backend(const backend_options& options,
                                                    const uring_restrictions& without,
                                                    std::string& why);

}  // namespace pillion::io
