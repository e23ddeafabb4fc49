// uring_probe: creates an io_uring as far as kernel, container and limits allow, and words the
// reason when they do not. Start-up code of uring_backend; no state.
//
// Thread: the one that will use the ring (SINGLE_ISSUER binds it).
#pragma once

#include <cstdint>
#include <string>

struct io_uring;

namespace pillion::io {

class buffer_ring;

// What was created.
struct uring_setup {
    unsigned submission_entries = 256;
    unsigned completion_entries = 2048;
    // Wished for first; steps back on its own when the kernel is older.
    bool defer_taskrun = true;
    // Out: the setup flags that worked.
    std::uint32_t flags = 0;
};

// Creates `ring` following the ladder of flags (DEFER_TASKRUN, then COOP_TASKRUN, then plain) and
// of sizes (memory locked by others is released late, so ENOMEM is retried for 100 ms before the
// sizes are halved, down to 64/256). Returns 0 or -errno; `setup` tells what was used.
int create_ring(::io_uring& ring, uring_setup& setup) noexcept;

// Whether the ring has every feature and operation the backend needs; `missing` names the first
// one that it has not.
bool has_required_features(::io_uring& ring, const char*& missing) noexcept;

// Hands the kernel the ring of receive buffers. Returns 0 or -errno; -EINVAL: not this use of them.
int register_buffers(::io_uring& ring, const uring_setup& setup,
                     const buffer_ring& buffers) noexcept;

// Whether completions of receives come in the order in which the kernel filled buffers: without
// that nobody knows where in a shared buffer their bytes are. So from Linux 6.15 on ("io_uring:
// ensure deferred completions are flushed for multishot"; fixed in later releases of older ones,
// too, which cannot be told apart).
bool completes_in_order() noexcept;

// One line for the log: "io_uring_setup: EPERM; likely the container's seccomp profile or …".
std::string explain_failure(const char* step, int os_errno);

}  // namespace pillion::io
