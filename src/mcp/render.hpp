// render: list entries and server descriptions as JSON text, once per revision, at start-up.
//
// A field that a revision does not know is never sent to it (REVISIONS §6.3). Thread-safety: pure.
#pragma once

#include <span>
#include <string>

#include "mcp/definitions.hpp"
#include "mcp/revision.hpp"

namespace pillion::mcp {

// One entry of tools/list. `output_is_object` tells whether the output schema's root is an object.
std::string render_tool(const detail::tool_definition& t, bool output_is_object, revision r);
std::string render_prompt(const detail::prompt_definition& p, revision r);
// One entry of resources/list or resources/templates/list.
std::string render_resource(const detail::resource_definition& d, revision r);
// The member "icons" of any of them.
std::string render_icons(std::span<const icon> icons);
// serverInfo.
std::string render_implementation(const detail::implementation_info& info, revision r);

// What a server offers, as its capabilities say it.
struct offer {
    bool tools = false;
    bool prompts = false;
    bool resources = false;
    bool completions = false;
    bool tasks = false;
};
std::string render_capabilities(const offer& what, revision r);

}  // namespace pillion::mcp
