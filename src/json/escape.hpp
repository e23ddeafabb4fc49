// escape: string contents to JSON (RFC 8259 §7). Only what must be escaped is: '"', '\\' and
// control characters, in the short forms where there are any. A raw newline is therefore never
// written, which the line-framed stdio transport relies on.
//
// Thread-safety: any thread; the functions keep no state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "json/string_scan.hpp"

namespace pillion::json {

// Copies [at, end) to `out` up to the first byte that must be escaped, which it returns, or `end`.
// Behind that place it may leave anything in [out, out + (end - at)), and writes nothing else.
// Unlike the parser's scans it reads nothing behind `end`: what is written comes from anywhere. No
// overlap.
const char* copy_plain(const char* at, const char* end, char* out) noexcept;
// The same by one implementation. REQUIRES: available(v).
const char* copy_plain(const char* at, const char* end, char* out, scan_variant v) noexcept;
// The same, but it stops at bytes from 0x80 on as well: what it has copied is UTF-8, whatever the
// text is.
const char* copy_plain_ascii(const char* at, const char* end, char* out) noexcept;
const char* copy_plain_ascii(const char* at, const char* end, char* out, scan_variant v) noexcept;

// Room that write_escaped() needs for `size` bytes.
constexpr std::size_t escaped_size_max(std::size_t size) noexcept { return size * 6 + 16; }

// Writes [at, end), escaped, without quotes, at `out`, which has room for escaped_size_max(), and
// returns the end of what it wrote. UTF-8 passes through unchecked. No overlap.
char* write_escaped(const char* at, const char* end, char* out) noexcept;

// Text is escaped in blocks of this size, so that the room for the worst case stays small.
inline constexpr std::size_t escape_block = 256;

// Appends `text`, escaped, without quotes, to `out` (anything with append(std::string_view)).
template <class Sink>
void append_escaped(Sink& out, std::string_view text) {
    char room[escaped_size_max(escape_block)];
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), escape_block))) {
        const std::string_view block = text.substr(0, escape_block);
        const char* const end = write_escaped(block.data(), block.data() + block.size(), room);
        out.append(std::string_view(room, static_cast<std::size_t>(end - room)));
    }
}

}  // namespace pillion::json
