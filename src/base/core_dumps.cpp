#include "base/core_dumps.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace pillion::base {

namespace {

rlimit& before() noexcept {
    static rlimit kept = [] {
        rlimit now{};
        ::getrlimit(RLIMIT_CORE, &now);
        return now;
    }();
    return kept;
}

}  // namespace

void hold_core_dumps() noexcept {
    const rlimit none{0, before().rlim_max};
    ::setrlimit(RLIMIT_CORE, &none);
}

void allow_core_dumps() noexcept { ::setrlimit(RLIMIT_CORE, &before()); }

void forbid_core_dumps() noexcept {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    // The limit does not hold for programs that the system hands dumps to (core(5)).
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace pillion::base
