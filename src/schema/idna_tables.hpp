// idna_tables: what IDNA 2008 (RFC 5892) needs to know of characters beyond ASCII. Upper-case
// letters count as letters: telling them from lower-case ones takes a table that is five times as
// long.
//
// Thread-safety: constants; any thread.
#pragma once

#include <cstdint>

namespace pillion::schema_check {

// Whether `code` may not stand in a label.
bool is_disallowed(std::uint32_t code) noexcept;
// Whether it is a combining mark.
bool is_mark(std::uint32_t code) noexcept;

}  // namespace pillion::schema_check
