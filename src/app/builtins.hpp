// builtins: what the pillion binary offers whatever it serves: the tools echo and wait, and the
// prompts that brief an agent.
//
// Thread-safety: for start-up, before main().
#pragma once

#include <string_view>

#include <pillion/server.hpp>

namespace pillion::app {

// When to choose this server and what bounds it, in at most 2 KB.
std::string_view agent_brief() noexcept;

// How to use its tools: order of calls, limits, what to do about truncated answers.
std::string_view agent_prompt() noexcept;

// Registers the tools echo and wait and the prompts agent_brief and agent_prompt.
void add_builtins(server& to);

}  // namespace pillion::app
