// parser: RFC 8259 text to a DOM of 16-byte nodes, in one pass and in place.
//
// The text stays where it is: strings are unescaped into their own bytes, numbers are only
// checked, and the nodes point at both. Strict: UTF-8 is validated, lone surrogate escapes, a byte
// order mark, raw control characters and anything behind the value are refused. Bytes come from a
// peer, so every fault is a parse_error, never an assertion.
//
// Numbers of any size are kept as they were written: integers are exact as far as 64 bits go, and
// whoever echoes a number echoes its text. Duplicate names are kept too, in order; the last of them
// counts wherever one is looked up (view::operator[], equal()), and who must not take such an
// object asks has_duplicate_key(). Nesting and the number of values are limited here, the size of
// the text by the transports.
//
// Ownership: the caller's buffer and arena must outlive every view of the result.
// Thread-safety: parse() keeps no state; buffer, arena and memo belong to the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pillion/json.hpp>

#include "base/arena.hpp"
#include "base/limits.hpp"
#include "json/string_scan.hpp"

namespace pillion::json {

class object_memo;

struct parse_limits {
    std::size_t depth_max = limits::json_depth_max;  // open containers; at most json_depth_max
    std::size_t nodes_max = limits::json_nodes_max;  // values and object keys
};

struct parse_error {
    enum class code : std::uint8_t {
        none,
        unexpected_end,
        unexpected_byte,
        byte_order_mark,
        bad_literal,
        bad_number,
        bad_escape,
        lone_surrogate,
        control_character,
        bad_utf8,
        depth,
        nodes,
        trailing_bytes,
    };
    code kind = code::none;
    std::size_t offset = 0;  // bytes from the start to the first that is at fault
    const char* text = "";   // constant, safe to show to a peer
};

struct parse_result {
    view root;  // missing unless ok
    parse_error error;
    bool ok = false;
};

// Parses data[0..size). The bytes are writable and at least limits::padding more behind them are
// readable (neither their contents nor their initialisation matters; they are not written).
// Rewrites the strings in place; after an error the contents are unspecified. Nodes come from
// `memory`, 16 bytes for each value and key.
// Members that `memo`, if given, is for are looked up there and kept there; the result is the same.
// REQUIRES: size < 4 GiB, bounds.depth_max <= limits::json_depth_max.
parse_result parse(char* data, std::size_t size, base::arena& memory,
                   const parse_limits& bounds = {}, object_memo* memo = nullptr) noexcept;
// The same by one implementation of the scans. REQUIRES: available(v).
parse_result parse(char* data, std::size_t size, base::arena& memory, const parse_limits& bounds,
                   scan_variant v, object_memo* memo = nullptr) noexcept;

}  // namespace pillion::json
