// The version of the library, as SemVer (see CHANGELOG.md).
#pragma once

namespace pillion {

inline constexpr const char* version = "0.1.0";

}  // namespace pillion
