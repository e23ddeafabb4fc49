#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace pillion::base {

void assert_fail(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

}  // namespace pillion::base
