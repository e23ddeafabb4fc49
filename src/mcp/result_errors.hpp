// result_errors: what a client hears instead of a handler's result. Thread: the request's shard.
#pragma once

#include <cstddef>

#include "base/byte_buffer.hpp"
#include "mcp/request.hpp"
#include "mcp/result_state.hpp"

namespace pillion::mcp {

// The error that the handler gave. REQUIRES: result.code != 0.
base::byte_buffer handler_error(request& r, const detail::result_state& result);
// Our fault, or the handler's: the log knows.
base::byte_buffer internal_fault(request& r, outcome how);
// A result that may not be sent, or took more memory than the request may hold (STANDARD row 98).
base::byte_buffer too_large_reply(request& r);

// Asks for the memory of a large message in one piece, while it can still be refused. `most`: what
// it takes at most; `plain`: … when nothing in it has to be escaped. One that may become larger
// than counted_bytes has been counted, so that both are the same.
bool room_for_reply(base::byte_buffer& out, std::size_t most, std::size_t plain) noexcept;

}  // namespace pillion::mcp
