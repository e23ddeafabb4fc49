// canonical: one text for all JSON texts that mean the same, for digests and bindings: members
// sorted by name (bytewise) with the last of equal names, numbers by value, strings by content.
// Close to RFC 8785, whose order of names is by UTF-16.
//
// Thread-safety: pure.
#pragma once

#include <pillion/json.hpp>

#include "base/arena.hpp"
#include "base/byte_buffer.hpp"

namespace pillion::json {

// Appends the text of `value` (a missing one as null). `memory` is used for sorting.
void write_canonical(view value, base::byte_buffer& out, base::arena& memory) noexcept;

}  // namespace pillion::json
