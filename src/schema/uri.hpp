// uri: references of schemas to each other (RFC 3986): splitting, resolving, fragments.
//
// Thread-safety: no state; for start-up, allocates freely.
#pragma once

#include <string>
#include <string_view>

namespace pillion::schema_check {

// `reference` seen from `base` (RFC 3986 §5.2), without its fragment. With an empty base a relative
// reference stays what it is, its dot segments removed.
std::string resolve_uri(std::string_view base, std::string_view reference);

// What stands before '#', and behind it (empty when there is none).
std::string_view without_fragment(std::string_view uri) noexcept;
std::string_view fragment_of(std::string_view uri) noexcept;

// Undoes percent escapes. False when one is malformed.
bool decode_percent(std::string_view text, std::string& out);

// `token` as part of a JSON Pointer, and back.
std::string escape_token(std::string_view token);
std::string unescape_token(std::string_view token);

}  // namespace pillion::schema_check
