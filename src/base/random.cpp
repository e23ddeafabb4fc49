#include "base/random.hpp"

#include <sys/random.h>
#include <cerrno>

#include "base/assert.hpp"

namespace pillion::base {

namespace {

constexpr std::uint64_t rotate_left(std::uint64_t x, int k) noexcept {
    return (x << k) | (x >> (64 - k));
}

}  // namespace

void os_random(void* to, std::size_t bytes) noexcept {
    auto* at = static_cast<unsigned char*>(to);
    while (bytes > 0) {
        const ssize_t got = ::getrandom(at, bytes, 0);
        if (got < 0) {
            // A signal may interrupt a large request; nothing else is expected.
            PILLION_ASSERT(errno == EINTR);
            continue;
        }
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
}

seeded_random::seeded_random(std::uint64_t seed) noexcept {
    // splitmix64 spreads the seed, as the authors of xoshiro advise.
    for (std::uint64_t& word : state_) {
        seed += 0x9E3779B97F4A7C15U;
        std::uint64_t z = seed;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        word = z ^ (z >> 31);
    }
}

std::uint64_t seeded_random::next() noexcept {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate_left(state_[3], 45);
    return result;
}

std::uint64_t seeded_random::below(std::uint64_t bound) noexcept {
    PILLION_ASSERT(bound > 0);
    // The first (2^64 mod bound) values would favour small results.
    const std::uint64_t threshold = (0 - bound) % bound;
    std::uint64_t value = next();
    while (value < threshold) {
        value = next();
    }
    return value % bound;
}

}  // namespace pillion::base
