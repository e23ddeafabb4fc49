#include "app/made_tools.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "app/prompt_files.hpp"
#include "app/server_state.hpp"
#include "sidecar/tool_maker.hpp"

namespace pillion::app {

namespace {

using sidecar::tool_spec;

// Those of `all` that are not in `others`, or not the same there.
std::vector<const tool_spec*> only_in(const std::vector<tool_spec>& all,
                                      const std::vector<tool_spec>& others) {
    std::vector<const tool_spec*> found;
    for (const tool_spec& one : all) {
        const bool same = std::any_of(others.begin(), others.end(), [&one](const tool_spec& o) {
            return o.name == one.name && o.fingerprint == one.fingerprint;
        });
        if (!same) {
            found.push_back(&one);
        }
    }
    return found;
}

bool change(server& of, const settings& from, const settings& to, std::string& fault) {
    const auto gone = only_in(from.made_tools, to.made_tools);
    const auto come = only_in(to.made_tools, from.made_tools);
    const bool prompts = from.prompts_fingerprint != to.prompts_fingerprint;
    detail::server_state& state = of.state();
    const auto exchange = [&state](const settings& with) {
        const std::lock_guard one_at_a_time(state.update_mutex);
        state.defs.operators = with.tools;
        state.defs.guards = with.guards;
        state.defs.icons = with.icons;
    };
    // Even if nothing changes here: servers behind this one may offer what a rule is about.
    exchange(to);
    if (gone.empty() && come.empty() && !prompts) {
        return true;
    }
    const auto edit = [&](catalog& now) {
        for (const tool_spec* one : gone) {
            now.remove_tool(one->name);
        }
        for (const tool_spec* one : come) {
            sidecar::add_tool(now.tool(one->name), *one);
        }
        if (prompts) {
            for (const sidecar::prompt_file& one : from.prompts) {
                now.remove_prompt(one.name);
            }
            add_prompt_files(now, to.prompts);
        }
    };
    if (!of.update(edit, &fault)) {
        exchange(from);
        return false;
    }
    return true;
}

}  // namespace

void add_made_tools(server& to, const settings& from) {
    for (const tool_spec& one : from.made_tools) {
        sidecar::add_tool(to.tool(one.name), one);
    }
    add_prompt_files(to, from.prompts);
}

reloader::offer offer_of(server& of) {
    return [&of](const settings& from, const settings& to, std::string& fault) {
        return change(of, from, to, fault);
    };
}

}  // namespace pillion::app
