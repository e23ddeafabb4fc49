// scopes: what a caller may use (RFC 6749 §3.3): whether those it was granted cover those that are
// needed.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::auth {

using scope_list = std::vector<std::string>;

inline constexpr std::size_t scope_bytes_max = 128;

// A scope-token: visible ASCII without " and \.
bool is_scope(std::string_view text) noexcept;

// Whether `granted`, scopes with blanks between them, covers one. "files:*" covers whatever begins
// with "files:"; beyond that a scope covers itself alone.
bool covers(std::string_view granted, std::string_view needed) noexcept;
bool covers(std::string_view granted, const scope_list& needed) noexcept;

// With blanks between them.
std::string joined(const scope_list& scopes);

// Adds those that `to` does not have.
void add_scopes(scope_list& to, const scope_list& more);

}  // namespace pillion::auth
