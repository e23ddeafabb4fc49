// media: what a file is to a client: its MIME type, whether it is text, its date.
//
// Thread-safety: pure functions over constants; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pillion::files {

inline constexpr std::string_view mime_text = "text/plain";
inline constexpr std::string_view mime_binary = "application/octet-stream";

// The MIME type that the extension of `path` suggests (case ignored); empty when it is unknown.
std::string_view mime_by_name(std::string_view path) noexcept;

// Bytes at the start of `bytes` that are text: valid UTF-8 without NUL. Equals bytes.size() when
// all of it is text.
std::size_t text_prefix(std::string_view bytes) noexcept;

// Whether `bytes` are text.
inline bool is_text(std::string_view bytes) noexcept { return text_prefix(bytes) == bytes.size(); }

// The same for the first `bytes` of something longer: a character cut off at the end is no fault.
bool is_text_start(std::string_view bytes) noexcept;

// The MIME type of a file by its name, else by whether its contents are `text`.
inline std::string_view mime_type(std::string_view path, bool text) noexcept {
    const std::string_view known = mime_by_name(path);
    return known.empty() ? (text ? mime_text : mime_binary) : known;
}

// Seconds since 1970 as "2026-01-31T23:59:59Z" (ISO 8601); empty outside the years 0 to 9999.
std::string iso8601(std::int64_t unix_s);

}  // namespace pillion::files
