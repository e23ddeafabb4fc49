// cpu: how many processors this process may really use, and pinning of shard threads.
//
// Thread-safety: any thread; pinning concerns the calling thread.
#pragma once

#include <cstddef>

namespace pillion::base {

// Processors in the affinity mask, cut down to the CPU quota of the control group (v1 or v2,
// rounded up) when there is one. At least 1.
std::size_t usable_cpus() noexcept;

// Pins the calling thread to the `index`-th (modulo their number) processor of the process'
// affinity mask as it was at the first call. False if the system refuses.
bool pin_thread(std::size_t index) noexcept;

// What the calling thread is for. `respond`: short turns that should begin at once; it takes a
// processor from the threads of other kinds as soon as it has work (time slices of its own, Linux
// 6.12 or newer; nothing happens on others). `compute`: long work that gives way. New threads
// inherit the kind of their creator.
enum class thread_kind : unsigned char { respond, compute };
void set_thread_kind(thread_kind kind) noexcept;

namespace detail {
// Quota in whole processors (rounded up) from the text of a cgroup v2 `cpu.max` ("150000 100000");
// 0 when unlimited or malformed.
std::size_t quota_of(const char* cpu_max) noexcept;
}  // namespace detail

}  // namespace pillion::base
