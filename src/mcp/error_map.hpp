// error_map: which HTTP status and which code an error leaves with (STANDARD row 94). In the
// generic profile an error of a method is an HTTP 200: under earlier revisions a 404 would tell a
// client that its session is gone. The corporate profile maps every code.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>

namespace pillion::mcp {

// `given`: what the place that made the error decided; other than 200 it stands.
std::uint16_t http_status_of(int code, std::uint16_t given, bool corporate) noexcept;

// 2026-07-28 asks servers to keep away from -32003: `strict` (server.strict_e_codes) says -32603
// there instead. data.retryAfter and HTTP 429 tell the same.
int wire_code(int code, bool modern_client, bool strict) noexcept;

}  // namespace pillion::mcp
