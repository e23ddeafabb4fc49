// process_stats: what the system knows of this process, under the names that Prometheus clients
// agreed on (process_*).
//
// Thread-safety: any thread. Costs a few system calls, none of which waits; where the kernel does
// not say how many descriptors are open (before 6.2) they are counted one by one.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/metrics_page.hpp"

namespace pillion::base {

void collect_process(metrics_page& to);

// One owner's part of pillion_memory_bytes; parts of one owner add up.
void show_memory(metrics_page& to, std::string_view owner, std::size_t bytes);

// What this was compiled with, "g++ 12.2.0".
extern const std::string_view compiler_name;

}  // namespace pillion::base
