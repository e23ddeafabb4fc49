// import_budget: what all tools of one description may take together, so that a small text in which
// everything refers to everything takes no longer than a large one. Plain data.
#pragma once

#include <cstddef>

namespace pillion::sidecar {

struct import_budget {
    std::size_t steps = 64 * 1024 * 1024;   // members and values that are looked at
    std::size_t bytes = 128 * 1024 * 1024;  // of schemas
};

}  // namespace pillion::sidecar
