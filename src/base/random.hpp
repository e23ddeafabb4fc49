// random: bytes from the kernel for everything an attacker must not guess (session ids, hash keys),
// and a small seeded generator for tests, simulation and jitter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pillion::base {

// Fills `to[0..bytes)` with unpredictable bytes (getrandom). Waits for the kernel's pool at early
// boot; aborts when the kernel has no such call. Any thread.
void os_random(void* to, std::size_t bytes) noexcept;

// xoshiro256** (Blackman and Vigna, public domain): fast, reproducible, NOT for secrets.
// Thread: one.
class seeded_random {
 public:
    using result_type = std::uint64_t;

    // Every seed, also 0, is a good one.
    explicit seeded_random(std::uint64_t seed) noexcept;

    // The next 64 bits.
    std::uint64_t next() noexcept;

    // A number in [0, bound) without bias. REQUIRES: bound > 0.
    std::uint64_t below(std::uint64_t bound) noexcept;

    // True once in `n` calls on average. REQUIRES: n > 0.
    bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

    // For std::shuffle and the like.
    std::uint64_t operator()() noexcept { return next(); }
    static constexpr std::uint64_t min() noexcept { return 0; }
    static constexpr std::uint64_t max() noexcept { return UINT64_MAX; }

 private:
    std::uint64_t state_[4];
};

}  // namespace pillion::base
