#include "mcp/meters.hpp"

#include "base/limits.hpp"
#include "mcp/registry.hpp"

namespace pillion::mcp {

std::uint32_t meters::named_rows::row_of(std::string_view name) {
    const auto at = index.find(name);
    if (at != index.end()) {
        return at->second;
    }
    if (index.size() >= limits::metered_names_max) {
        return other;
    }
    const auto number = static_cast<std::uint32_t>(all.size());
    all.emplace_back().name = name;
    index.emplace(all.back().name, number);
    return number;
}

meters::rows meters::rows_of(const registry& offers) {
    rows of;
    of.tools.reserve(offers.tools().size());
    for (const tool& t : offers.tools()) {
        of.tools.push_back(tools_.row_of(t.definition->name));
    }
    of.prompts.reserve(offers.prompts().size());
    for (const prompt& p : offers.prompts()) {
        of.prompts.push_back(prompts_.row_of(p.definition->name));
    }
    return of;
}

void meters::collect(base::metrics_page& to, method_id method, const counted& from) {
    const std::string_view method_name =
        method == method_id::unknown ? std::string_view("_other") : name_of(method);
    for (std::size_t i = 0; i < outcome::count; ++i) {
        if (from.by_outcome[i] == nullptr) {
            continue;
        }
        const outcome how = outcome::at(i);
        to.histogram("mcp_server_operation_duration_seconds",
                     "Time from the arrival of a request to its answer, by how it ended.",
                     *from.by_outcome[i],
                     {{"mcp_method_name", method_name},
                      {"gen_ai_tool_name", method == method_id::tools_call ? from.name : ""},
                      {"gen_ai_prompt_name", method == method_id::prompts_get ? from.name : ""},
                      {"mcp_result_type", how == outcome("input_required") ? how.word() : ""},
                      {"error_type", how.is_error() ? how.word() : ""}});
    }
}

void meters::collect(base::metrics_page& to) const {
    for (std::size_t i = 0; i < methods; ++i) {
        collect(to, static_cast<method_id>(i), methods_[i]);
    }
    for (const counted& one : tools_.all) {
        collect(to, method_id::tools_call, one);
    }
    for (const counted& one : prompts_.all) {
        collect(to, method_id::prompts_get, one);
    }
    to.histogram("mcp_server_deadline_lateness_seconds",
                 "How long after its deadline a request was told that its time is over.",
                 deadline_lateness_);
}

}  // namespace pillion::mcp
