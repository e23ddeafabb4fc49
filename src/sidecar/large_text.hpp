// large_text: messages of servers behind us that were larger than most. Their memory goes back to
// the system when they have been read: the allocator, which has seen it come and go, would keep as
// much of it as there were such messages at a time.
//
// Thread-safety: plain functions.
#pragma once

#include <cstddef>
#include <string>

namespace pillion::sidecar {

inline constexpr std::size_t kept_text_bytes = 1024 * 1024;

// Empties a text that has more memory than is kept.
void give_back(std::string& text) noexcept;
// A text of that size has been freed.
void freed(std::size_t bytes) noexcept;

}  // namespace pillion::sidecar
