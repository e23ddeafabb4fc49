// icon_check: what an icon may be that others gave us, an operator or a server behind us: a picture
// on the web or in the text itself (MCP 2025-11-25, "Icons"), and nothing that would run where a
// client shows it.
//
// Thread-safety: pure functions.
#pragma once

#include <string_view>

namespace pillion::sidecar {

// An http or https URL, or an image as base64 (RFC 2397).
bool is_icon_source(std::string_view text);

// "48x48", or "any" of what can be drawn in every size.
bool is_icon_size(std::string_view text);

// Which background it is for.
bool is_icon_theme(std::string_view text);

}  // namespace pillion::sidecar
