// pointer: JSON Pointer (RFC 6901) lookup, and the text of a pointer for error messages.
//
// Thread-safety: any thread for the lookups; a byte_buffer belongs to its shard.
#pragma once

#include <cstddef>
#include <string_view>

#include <pillion/json.hpp>

#include "base/byte_buffer.hpp"

namespace pillion::json {

// Whether `pointer` is well-formed: empty, or '/'-led tokens in which '~' stands only in "~0" and
// "~1".
bool is_pointer(std::string_view pointer) noexcept;

// The value `pointer` leads to from `root`; missing when there is none or the pointer is
// malformed. "" is the root itself. Array tokens are decimal without leading zeros; "-" (the
// element behind the last) is always missing. The last of duplicate keys counts.
view resolve(view root, std::string_view pointer) noexcept;

// One step of a path that a recursive walk keeps on its stack: the way to an error costs nothing
// until there is one. The root is a null pointer. `key` is used when `in_object`, else `index`.
struct path_step {
    const path_step* parent = nullptr;
    std::string_view key = {};
    std::size_t index = 0;
    bool in_object = false;
};

// Appends the pointer of the way from the root to `leaf`; nothing when `leaf` is null. The text is
// raw: it still needs escaping as a JSON string.
void append_pointer(base::byte_buffer& out, const path_step* leaf) noexcept;

// Appends the pointer from `root` to `target`, found by its place in the document; false, with
// `out` unchanged, when `target` is missing or not in `root`. A hidden duplicate member gets the
// pointer of its name. Takes time linear in the members and elements along the way.
bool append_pointer(base::byte_buffer& out, view root, view target) noexcept;

}  // namespace pillion::json
