// What must hold before a method runs, by era: presence of the method, `_meta` of 2026-07-28, and
// the headers that mirror the body (REVISIONS §2.4, §5.7).
//
// Thread: the request's shard.
#pragma once

#include <string_view>

#include "mcp/replies.hpp"
#include "mcp/request.hpp"

namespace pillion::mcp {

// The client of this very request takes tasks of the extension (REVISIONS §13).
bool knows_tasks(const request& r) noexcept;
// The refusal of those that do not: always false.
bool missing_tasks(fault& why) noexcept;

// Everything up to the parameters of the method. False: `why` says what is wrong; its texts live
// in the request's memory.
bool check_modern(request& r, fault& why);
bool check_legacy(request& r, fault& why);

// The Mcp-Param-* headers of a tools/call against its arguments. REQUIRES: r.tool.
bool check_param_headers(request& r, fault& why);

// Decodes a mirrored header value: "=?base64?…?=" or plain. False: not decodable. The outcome
// lives in `memory` or in the header.
bool decode_mirrored(std::string_view value, base::arena& memory, std::string_view& out);

}  // namespace pillion::mcp
