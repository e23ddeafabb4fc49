#include "mcp/operator_limits.hpp"

#include <algorithm>

#include "mcp/tool_gate.hpp"

namespace pillion::mcp {

namespace {

void apply(const detail::operator_limits& from, detail::tool_definition& to,
           std::vector<std::string>& warnings) {
    if (from.timeout) {
        to.timeout = *from.timeout;
        if (to.timeout_max.count() > 0) {
            to.timeout_max = std::max(to.timeout_max, to.timeout);
        }
    }
    detail::tool_limits& calls = to.calls;
    if (from.per_second) {
        calls.per_second = static_cast<double>(*from.per_second);
        calls.burst = 0;
        calls.bad_rate = false;
    }
    calls.burst = from.burst.value_or(calls.burst);
    calls.concurrent = from.concurrent.value_or(calls.concurrent);
    calls.queue = from.queue.value_or(calls.queue);
    if (calls.concurrent == 0) {
        calls.queue_given = false;
        if (from.queue) {
            warnings.push_back("tools." + from.tool + ".queue means nothing without concurrent");
        }
    }
    if (calls.per_second == 0 && from.burst) {
        warnings.push_back("tools." + from.tool + ".rate_burst means nothing without rate");
    }
    if (!calls.bad_rate) {
        to.gate = make_tool_gate(calls);
    }
}

}  // namespace

void apply_operator_limits(detail::definitions& to, std::vector<std::string>& warnings) {
    for (const detail::operator_limits& one : to.operators) {
        const auto found = std::find_if(to.tools.begin(), to.tools.end(), [&one](const auto& tool) {
            return tool->name == one.tool;
        });
        if (found == to.tools.end()) {
            warnings.push_back("tools." + one.tool + ": there is no such tool");
        } else if (!(*found)->operated) {
            (*found)->operated = true;
            apply(one, **found, warnings);
        }
    }
}

}  // namespace pillion::mcp
