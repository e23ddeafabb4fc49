// trace_headers: the trace context that a request came with (W3C Trace Context, STANDARD row 105):
// from `_meta`, where 2026-07-28 has it under its bare names, else from the HTTP head. What is not
// valid is as if it had not been sent.
//
// Thread-safety: pure functions; read_trace() belongs to the request's shard.
#pragma once

#include <string_view>

#include <pillion/context.hpp>

#include "mcp/request.hpp"

namespace pillion::mcp {

// §3.2.2: version, trace id, parent id and flags. A version to come may have more behind them.
bool is_valid_traceparent(std::string_view text) noexcept;
// §3.3.1: at most 32 members, each a key and a value.
bool is_valid_tracestate(std::string_view text) noexcept;

// In the request's memory; nothing comes from the heap. REQUIRES: r.meta is set; r.head is there or
// null.
trace_context read_trace(request& r) noexcept;

}  // namespace pillion::mcp
