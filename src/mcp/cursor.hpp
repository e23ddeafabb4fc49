// cursor: where a list goes on, as the opaque text of nextCursor.
//
// It names the last entry that was sent, so it stays good when entries come and go (AMBIGUITIES
// G44), on every thread, replica and after a restart. A checksum tells a tampered or foreign
// cursor from ours; it is no secret, since a position grants nothing. Thread-safety: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/arena.hpp"

namespace pillion::mcp {

enum class list_kind : char {
    tools = 't',
    prompts = 'p',
    resources = 'r',
    templates = 'm',
    provided = 'v',
    tasks = 'k',
};

struct position {
    list_kind kind;
    std::uint32_t number = 0;  // provided: which provider; else the entry's registration
    std::string_view after;    // name or URI of the last entry sent; may be empty
};

// The text form, in `memory`.
std::string_view encode_cursor(const position& at, base::arena& memory);
// nullopt for anything encode_cursor() did not make.
std::optional<position> decode_cursor(std::string_view text, base::arena& memory);

}  // namespace pillion::mcp
