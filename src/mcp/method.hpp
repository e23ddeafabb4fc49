// method: the names of MCP requests as small integers.
//
// Thread-safety: constants and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mcp/revision.hpp"

namespace pillion::mcp {

enum class method_id : std::uint8_t {
    unknown,
    initialize,
    ping,
    discover,
    tools_list,
    tools_call,
    resources_list,
    resources_templates_list,
    resources_read,
    resources_subscribe,
    resources_unsubscribe,
    prompts_list,
    prompts_get,
    completion_complete,
    logging_set_level,
    subscriptions_listen,
    tasks_get,
    tasks_list,
    tasks_result,
    tasks_update,
    tasks_cancel,
};
inline constexpr std::size_t methods = static_cast<std::size_t>(method_id::tasks_cancel) + 1;

// unknown when it is none of ours.
method_id find_method(std::string_view name) noexcept;

// The opposite; empty for unknown.
std::string_view name_of(method_id m) noexcept;

// Whether a revision has the method at all (REVISIONS §6).
constexpr bool exists_in(method_id m, revision r) noexcept {
    switch (m) {
        case method_id::unknown:
            return false;
        case method_id::initialize:
        case method_id::ping:
        case method_id::resources_subscribe:
        case method_id::resources_unsubscribe:
        case method_id::logging_set_level:
            return is_legacy(r);
        case method_id::discover:
        case method_id::subscriptions_listen:
        case method_id::tasks_update:
            return is_modern(r);
        case method_id::tasks_list:
        case method_id::tasks_result:
            return r == revision::r2025_11_25;
        case method_id::tasks_get:
        case method_id::tasks_cancel:
            return r >= revision::r2025_11_25;
        default:
            return true;
    }
}

}  // namespace pillion::mcp
