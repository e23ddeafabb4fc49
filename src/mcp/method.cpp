#include "mcp/method.hpp"

#include <iterator>

namespace pillion::mcp {

method_id find_method(std::string_view name) noexcept {
    // Length first: one comparison for nearly every name.
    switch (name.size()) {
        case 4:
            return name == "ping" ? method_id::ping : method_id::unknown;
        case 9:
            return name == "tasks/get" ? method_id::tasks_get : method_id::unknown;
        case 10:
            if (name == "tools/call") {
                return method_id::tools_call;
            }
            if (name == "tools/list") {
                return method_id::tools_list;
            }
            if (name == "tasks/list") {
                return method_id::tasks_list;
            }
            return name == "initialize" ? method_id::initialize : method_id::unknown;
        case 11:
            return name == "prompts/get" ? method_id::prompts_get : method_id::unknown;
        case 12:
            if (name == "tasks/cancel") {
                return method_id::tasks_cancel;
            }
            if (name == "tasks/result") {
                return method_id::tasks_result;
            }
            if (name == "tasks/update") {
                return method_id::tasks_update;
            }
            return name == "prompts/list" ? method_id::prompts_list : method_id::unknown;
        case 14:
            if (name == "resources/list") {
                return method_id::resources_list;
            }
            return name == "resources/read" ? method_id::resources_read : method_id::unknown;
        case 15:
            return name == "server/discover" ? method_id::discover : method_id::unknown;
        case 16:
            return name == "logging/setLevel" ? method_id::logging_set_level : method_id::unknown;
        case 19:
            if (name == "completion/complete") {
                return method_id::completion_complete;
            }
            return name == "resources/subscribe" ? method_id::resources_subscribe
                                                 : method_id::unknown;
        case 20:
            return name == "subscriptions/listen" ? method_id::subscriptions_listen
                                                  : method_id::unknown;
        case 21:
            return name == "resources/unsubscribe" ? method_id::resources_unsubscribe
                                                   : method_id::unknown;
        case 24:
            return name == "resources/templates/list" ? method_id::resources_templates_list
                                                      : method_id::unknown;
        default:
            return method_id::unknown;
    }
}

std::string_view name_of(method_id m) noexcept {
    static constexpr std::string_view names[] = {
        "",
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "tasks/update",
        "tasks/cancel",
    };
    static_assert(std::size(names) == methods);
    return names[static_cast<std::size_t>(m)];
}

}  // namespace pillion::mcp
