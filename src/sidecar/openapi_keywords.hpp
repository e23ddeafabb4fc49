// openapi_keywords: which keywords of a schema hold schemas, and how.
//
// Thread-safety: constants; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace pillion::sidecar {

// As its value, as the elements of it, or as the values of its members.
enum class held : std::uint8_t { no, one, list, named };

held how_held(std::string_view keyword) noexcept;

}  // namespace pillion::sidecar
