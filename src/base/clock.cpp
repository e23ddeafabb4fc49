#include "base/clock.hpp"

#include <time.h>

namespace pillion::base {

namespace {

std::int64_t read_ns(clockid_t clock) noexcept {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::int64_t>(now.tv_sec) * ns_per_s + now.tv_nsec;
}

}  // namespace

std::int64_t monotonic_now_ns() noexcept { return read_ns(CLOCK_MONOTONIC); }
std::int64_t thread_now_ns() noexcept { return read_ns(CLOCK_THREAD_CPUTIME_ID); }
std::int64_t unix_now_ns() noexcept { return read_ns(CLOCK_REALTIME); }
std::int64_t unix_now_ms() noexcept { return unix_now_ns() / ns_per_ms; }

}  // namespace pillion::base
