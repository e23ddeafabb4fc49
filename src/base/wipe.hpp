// wipe: overwrites secrets. Thread-safety: any thread.
#pragma once

#include <string.h>  // NOLINT(modernize-deprecated-headers): explicit_bzero is of POSIX systems
#include <cstddef>

namespace pillion::base {

// Overwrites memory so that the compiler cannot leave it out.
inline void wipe(void* secret, std::size_t bytes) noexcept { ::explicit_bzero(secret, bytes); }

}  // namespace pillion::base
