// home_page: what a browser gets for `GET /` (STANDARD row 23): what this is, where the endpoint
// is, and where to read on. It says no version, loads nothing and runs nothing.
//
// Thread-safety: pure.
#pragma once

#include <string_view>

#include "base/byte_buffer.hpp"
#include "http/exchange.hpp"
#include "mcp/definitions.hpp"

namespace pillion::mcp {

// Everything is forbidden but the page's own style, by its hash.
inline constexpr http::extra_header home_page_headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'sha256-gbkWVtmo1eM5r4iZW3AUfe0jwMp1Ez46bRsjYScxH3g='; "
     "base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-cache"},
};

// `endpoint` is the path of the MCP endpoint.
void write_home_page(base::byte_buffer& to, const detail::implementation_info& info,
                     std::string_view endpoint);

}  // namespace pillion::mcp
