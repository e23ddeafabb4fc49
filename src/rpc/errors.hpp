// JSON-RPC and MCP error codes (REVISIONS §7; STANDARD error map).
#pragma once

namespace pillion::rpc {

inline constexpr int parse_error = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int method_not_found = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int internal_error = -32603;

// MCP up to 2025-11-25; from 2026-07-28 on invalid_params says it.
inline constexpr int resource_not_found = -32002;
// MCP 2025-11-25 alone: the client opens a page first.
inline constexpr int url_elicitation_required = -32042;
// Corporate standard.
inline constexpr int server_error = -32000;
inline constexpr int rate_limited = -32003;
inline constexpr int timed_out = -32004;
inline constexpr int too_large = -32005;
inline constexpr int unavailable = -32006;
inline constexpr int conflict = -32007;
// MCP 2026-07-28.
inline constexpr int header_mismatch = -32020;
inline constexpr int missing_capability = -32021;
inline constexpr int unsupported_version = -32022;

}  // namespace pillion::rpc
