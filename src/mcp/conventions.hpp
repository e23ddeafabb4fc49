// conventions: what the corporate standard asks of names, descriptions and URIs beyond MCP
// (STANDARD rows 68, 69, 71, 73 to 75, 84, 85). The corporate profile refuses what must not be and
// warns of what should not; the generic profile takes everything that MCP allows.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/definitions.hpp"

namespace pillion::mcp {

struct finding {
    bool must = false;  // else it is advice
    std::string text;   // "tool \"x\": …"
    // What it is about, as a registration_fault says it.
    const char* section = "";
    std::string name;

    finding(bool binding, std::string what) : must(binding), text(std::move(what)) {}
};

// All that is wrong with the registrations, in their order.
std::vector<finding> check_conventions(const detail::definitions& from);

// Whether a server of that name may answer to a URI: its own scheme, or one of the URIs that the
// standard names under use://, project:// and doc://.
bool is_own_uri(std::string_view uri, std::string_view server_name) noexcept;

}  // namespace pillion::mcp
