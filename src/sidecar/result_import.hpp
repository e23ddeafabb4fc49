// result_import: what a server behind us answered, as a result of ours: from there on it is written
// in the shape that the client's revision knows, whatever the server's was.
//
// Thread: the request's shard.
#pragma once

#include <string_view>

#include <pillion/content.hpp>
#include <pillion/context.hpp>
#include <pillion/json.hpp>

#include "mcp/revision.hpp"

namespace pillion::sidecar {

tool_result import_tool_result(context& ctx, json::view from);
prompt_result import_prompt_result(context& ctx, json::view from);
// `uri` is what was asked for, where a content does not say its own.
resource_result import_resource_result(context& ctx, json::view from, std::string_view uri);
completion_result import_completion(context& ctx, json::view from);

// The code of an error as it may go on to a client of revision `to`: those that would speak of our
// own connection, or that it does not know, become internal errors.
int outward_code(int code, mcp::revision to) noexcept;

}  // namespace pillion::sidecar
