#include "mcp/operator_limits.hpp"

#include <algorithm>

#include "mcp/tool_gate.hpp"

namespace pillion::mcp {

namespace {

// Key by key, as limits.
void apply_effects(const detail::tool_effects& from, detail::tool_effects& to) {
    to.risk = from.risk ? from.risk : to.risk;
    to.here = from.here.empty() ? to.here : from.here;
    if (!from.outside) {
        return;
    }
    external_effects& all = to.outside ? *to.outside : to.outside.emplace();
    for (std::string external_effects::* const one :
         {&external_effects::idempotency, &external_effects::retries, &external_effects::timeout,
          &external_effects::audit, &external_effects::approval}) {
        const std::string& said = (*from.outside).*one;
        all.*one = said.empty() ? all.*one : said;
    }
}

void apply(const detail::operator_limits& from, detail::tool_definition& to,
           std::vector<std::string>& warnings) {
    apply_effects(from.effects, to.effects);
    to.icons = from.icons.empty() ? to.icons : from.icons;
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

void apply_operator_limits(detail::definitions& to, std::vector<std::string>& warnings,
                           std::uint32_t since, const detail::expected_names& expected) {
    for (const detail::operator_limits& one : to.operators) {
        bool known = false;
        for (const auto& tool : to.tools) {
            known = known || tool->name == one.tool;
            if (tool->name == one.tool && tool->serial > since) {
                apply(one, *tool, warnings);
            }
        }
        if (!known && !(expected && expected(one.tool))) {
            warnings.push_back("tools." + one.tool + ": there is no such tool");
        }
    }
}

void apply_operator_icons(detail::definitions& to, std::vector<std::string>& warnings,
                          std::uint32_t since, const detail::expected_names& expected) {
    for (const detail::operator_icons& one : to.icons) {
        bool known = false;
        const auto apply_to = [&](const std::string& name, auto& definition) {
            known = known || name == one.name;
            if (name == one.name && definition.serial > since) {
                definition.icons = one.icons;
            }
        };
        if (one.of_prompt) {
            for (const auto& prompt : to.prompts) {
                apply_to(prompt->name, *prompt);
            }
        } else {
            for (const auto& resource : to.resources) {
                apply_to(resource->uri, *resource);
            }
        }
        if (!known && !(expected && expected(one.name))) {
            warnings.push_back((one.of_prompt ? "prompts." : "resources.") + one.name +
                               ".icons: there is nothing of that name");
        }
    }
}

}  // namespace pillion::mcp
