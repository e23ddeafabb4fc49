// Assertions that stay on in every build. They state facts about our own code only: bytes that
// come from a peer are never asserted about, they end in an error (see base/result.hpp).
//
// Thread-safety: any thread. A failed assertion prints one line to stderr and aborts.
#pragma once

namespace pillion::base {

// Prints "file:line: assertion failed: expression" to stderr and aborts. Never returns.
[[noreturn, gnu::cold]] void assert_fail(const char* expression, const char* file,
                                         int line) noexcept;

}  // namespace pillion::base

#define PILLION_ASSERT(expression)                      \
    (__builtin_expect(static_cast<bool>(expression), 1) \
         ? static_cast<void>(0)                         \
         : ::pillion::base::assert_fail(#expression, __FILE__, __LINE__))

// For checks that cost more than O(1); off in release builds.
#ifdef NDEBUG
#define PILLION_DEBUG_ASSERT(expression) static_cast<void>(0)
#else
#define PILLION_DEBUG_ASSERT(expression) PILLION_ASSERT(expression)
#endif
