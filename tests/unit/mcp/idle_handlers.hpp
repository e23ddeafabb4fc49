// Handlers of tools and prompts of which only what is said about them matters.
#pragma once

#include <pillion/server.hpp>

namespace pillion::mcp::testing {

inline tool_result nothing(context& ctx) { return ctx.result(); }
inline task<prompt_result> no_prompt(context& ctx, json::view) { co_return ctx.prompt(); }

}  // namespace pillion::mcp::testing
