// result_size: how many bytes a result takes as JSON, and how much of a text fits into so many, so
// that a message never grows beyond its limit while it is written. Never less than what the writer
// makes of it. Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "mcp/result_state.hpp"

namespace pillion::mcp {

// The longest beginning of a text, between two characters, that takes at most so many bytes as a
// JSON string, without the quotes; and what it takes.
struct fitted {
    std::size_t bytes = 0;
    std::size_t json_bytes = 0;
};
fitted fit_text(std::string_view text, std::size_t json_bytes_max) noexcept;

// The same in bytes of the text itself.
std::size_t whole_characters(std::string_view text, std::size_t bytes_max) noexcept;

// Bytes of the whole text as a JSON string, without the quotes.
std::size_t json_size(std::string_view text) noexcept;

// Bytes of a content, whatever the revision.
std::size_t json_size(const detail::content_node& n) noexcept;
// What a content takes besides its body and the texts that describe it.
inline constexpr std::size_t content_frame_bytes = 256;
// Bytes of what it says beyond these.
std::size_t extras_size(const detail::content_node& n) noexcept;

// The bytes of all bodies and texts as they are; as JSON they take at most six times that.
std::size_t raw_size(const detail::result_state& result) noexcept;
inline constexpr std::size_t escape_factor = 6;
// Answers that may be larger are counted byte by byte.
inline constexpr std::size_t counted_bytes = 512 * 1024;
// Bytes of contents and `_meta` in their envelope, a mark and a link among them.
std::size_t json_size(const detail::result_state& result) noexcept;
inline constexpr std::size_t answer_frame_bytes = 2048;

}  // namespace pillion::mcp
