#include "sim/seeded_entropy.hpp"

#include <sys/random.h>
#include <algorithm>
#include <cstring>

#include "base/random.hpp"

namespace pillion::sim {

namespace {

base::seeded_random& source() noexcept {
    static base::seeded_random made(0);
    return made;
}

}  // namespace

void seed_entropy(std::uint64_t seed) noexcept { source() = base::seeded_random(seed); }

}  // namespace pillion::sim

// The program's own comes before the C library's.
extern "C" ssize_t getrandom(void* to, size_t bytes, unsigned /*flags*/) {
    auto* at = static_cast<char*>(to);
    for (size_t left = bytes; left > 0;) {
        const std::uint64_t word = pillion::sim::source().next();
        const size_t part = std::min(left, sizeof word);
        std::memcpy(at, &word, part);
        at += part;
        left -= part;
    }
    return static_cast<ssize_t>(bytes);
}
