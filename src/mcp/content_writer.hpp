// content_writer: contents of results as JSON, in the shape that the client's revision knows.
// Thread: the request's shard.
#pragma once

#include <pillion/content.hpp>

#include "json/writer.hpp"
#include "mcp/result_state.hpp"
#include "mcp/revision.hpp"

namespace pillion::mcp {

// One content of a tool's result or a prompt.
void write_content(json::writer& w, const detail::content_node& n, revision r);
// One entry of the contents of a resource.
void write_resource_body(json::writer& w, const detail::content_node& n, revision r);
// The member "annotations".
void write_annotations(json::writer& w, const content_annotations& a, revision r);

}  // namespace pillion::mcp
