// escape: string contents to JSON (RFC 8259 §7). Only what must be escaped is: '"', '\\' and
// control characters, in the short forms where there are any. A raw newline is therefore never
// written, which the line-framed stdio transport relies on.
//
// Thread-safety: any thread; the functions keep no state.
#pragma once

#include <cstddef>
#include <string_view>

#include "json/string_scan.hpp"

namespace pillion::json {

// The first byte of [at, end) that must be escaped, or `end`. Unlike the parser's scans it reads
// nothing behind `end`: what is written comes from anywhere.
const char* find_escape(const char* at, const char* end) noexcept;
// The same by one implementation. REQUIRES: available(v).
const char* find_escape(const char* at, const char* end, scan_variant v) noexcept;

// The escape of `c` ("\n" as the two bytes \ and n), valid for ever. REQUIRES: `c` must be escaped.
std::string_view escape_of(char c) noexcept;

// Appends `text`, escaped, without quotes, to `out` (anything with append(std::string_view)).
// UTF-8 passes through unchecked.
template <class Sink>
void append_escaped(Sink& out, std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        const char* const run = find_escape(at, end);
        if (run != at) {
            out.append(std::string_view(at, static_cast<std::size_t>(run - at)));
        }
        if (run == end) {
            break;
        }
        out.append(escape_of(*run));
        at = run + 1;
    }
}

}  // namespace pillion::json
