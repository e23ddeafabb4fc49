// content_writer: contents of results as JSON, in the shape that the client's revision knows.
// Thread: the request's shard.
#pragma once

#include "json/writer.hpp"
#include "mcp/result_state.hpp"
#include "mcp/revision.hpp"

namespace pillion::mcp {

// One content of a tool's result or a prompt.
void write_content(json::writer& w, const detail::content_node& n, revision r);
// One entry of the contents of a resource.
void write_resource_body(json::writer& w, const detail::content_node& n);

}  // namespace pillion::mcp
