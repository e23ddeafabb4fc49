// seeded_entropy: the kernel's random bytes as a program, so that session ids, seals and hash keys
// are the same in every run of a seed. It defines getrandom() for whatever it is linked into.
//
// Thread: one.
#pragma once

#include <cstdint>

namespace pillion::sim {

// From here on the bytes follow from `seed`.
void seed_entropy(std::uint64_t seed) noexcept;

}  // namespace pillion::sim
