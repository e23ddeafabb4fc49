// The time of the tests of tokens: what they say of their own is before or after it.
#pragma once

#include <cstdint>

namespace pillion::auth::testing {

inline constexpr std::int64_t now = 1'800'000'000;  // seconds since 1970

}  // namespace pillion::auth::testing
