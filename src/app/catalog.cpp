// Registration, before the start and while a server runs (include/pillion/server.hpp).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <pillion/server.hpp>

#include "app/server_state.hpp"
#include "base/log.hpp"
#include "mcp/access_check.hpp"
#include "mcp/operator_limits.hpp"
#include "mcp/registry.hpp"

namespace pillion {

namespace {

// A new definition at the end of its list.
template <class Definition>
Definition& add_to(std::vector<std::shared_ptr<Definition>>& list, detail::definitions& all) {
    list.push_back(std::make_shared<Definition>());
    list.back()->serial = ++all.registrations;
    return *list.back();
}

template <class List, class Matches>
bool remove_from(List& list, Matches&& matches) {
    return std::erase_if(list, [&](const auto& d) { return matches(*d); }) > 0;
}

template <class List, class Matches>
bool is_in(const List& list, Matches&& matches) {
    return std::any_of(list.begin(), list.end(), [&](const auto& d) { return matches(*d); });
}

// What clients see of a list, in an order that does not depend on when things were added: entries,
// and the scopes without which they are not shown.
template <class List>
auto seen_of(const List& list) {
    std::vector<std::pair<mcp::rendered_entry, detail::scope_list>> all;
    all.reserve(list.size());
    for (const auto& one : list) {
        all.emplace_back(one.entry, one.definition->scopes);
    }
    std::sort(all.begin(), all.end());
    return all;
}

// Tells of lists that look different. What was exchanged for the same in other clothes, as a reload
// does with a tool whose program is another one, is nobody's business.
void publish_changes(mcp::service& to, const mcp::registry& before, const mcp::registry& after) {
    if (seen_of(before.tools()) != seen_of(after.tools())) {
        to.publish(mcp::change::tools);
    }
    if (seen_of(before.prompts()) != seen_of(after.prompts())) {
        to.publish(mcp::change::prompts);
    }
    if (seen_of(before.resources()) != seen_of(after.resources()) ||
        seen_of(before.templates()) != seen_of(after.templates())) {
        to.publish(mcp::change::resources);
    }
}

}  // namespace

tool_builder catalog::tool(std::string name) {
    detail::tool_definition& d = add_to(definitions_.tools, definitions_);
    d.name = std::move(name);
    return tool_builder(&d);
}

prompt_builder catalog::prompt(std::string name) {
    detail::prompt_definition& d = add_to(definitions_.prompts, definitions_);
    d.name = std::move(name);
    return prompt_builder(&d);
}

resource_builder catalog::resource(std::string uri) {
    detail::resource_definition& d = add_to(definitions_.resources, definitions_);
    d.uri = std::move(uri);
    return resource_builder(&d);
}

resource_builder catalog::resource_template(std::string uri_template) {
    detail::resource_definition& d = add_to(definitions_.resources, definitions_);
    d.is_template = true;
    d.uri = std::move(uri_template);
    return resource_builder(&d);
}

bool catalog::remove_tool(std::string_view name) {
    return remove_from(definitions_.tools, [&](const auto& d) { return d.name == name; });
}

bool catalog::remove_prompt(std::string_view name) {
    return remove_from(definitions_.prompts, [&](const auto& d) { return d.name == name; });
}

bool catalog::remove_resource(std::string_view uri) {
    return remove_from(definitions_.resources,
                       [&](const auto& d) { return !d.is_template && d.uri == uri; });
}

bool catalog::remove_template(std::string_view uri_template) {
    return remove_from(definitions_.resources,
                       [&](const auto& d) { return d.is_template && d.uri == uri_template; });
}

bool catalog::has_tool(std::string_view name) const {
    return is_in(definitions_.tools, [&](const auto& d) { return d.name == name; });
}

bool catalog::has_prompt(std::string_view name) const {
    return is_in(definitions_.prompts, [&](const auto& d) { return d.name == name; });
}

bool catalog::has_template(std::string_view uri_template) const {
    return is_in(definitions_.resources,
                 [&](const auto& d) { return d.is_template && d.uri == uri_template; });
}

bool server::update(const std::function<void(catalog&)>& edit, std::string* fault) {
    const std::lock_guard one_at_a_time(state_->update_mutex);
    detail::definitions next = state_->defs;
    const std::uint32_t before_edit = next.registrations;
    next.offered_tools = next.offered_tools || !next.tools.empty();
    for (const auto& tool : next.tools) {
        next.offered_tasks = next.offered_tasks || tool->terms.support != task_support::forbidden;
    }
    next.offered_prompts = next.offered_prompts || !next.prompts.empty();
    next.offered_resources = next.offered_resources || !next.resources.empty();
    catalog open(next);
    edit(open);
    std::string why;
    std::vector<std::string> warnings;
    // Of what is new: the other definitions are in use, and stay if this is refused.
    mcp::apply_operator_limits(next, warnings, before_edit);
    mcp::apply_operator_icons(next, warnings, before_edit);
    // What they name may have been removed, or come later.
    mcp::registration_faults ignored;
    mcp::apply_operator_scopes(next, ignored, before_edit);
    std::shared_ptr<const mcp::registry> frozen = mcp::registry::freeze(next, why, warnings);
    if (frozen == nullptr) {
        log::warn("registry.update_refused", {log::kv("reason", why)});
        if (fault != nullptr) {
            *fault = std::move(why);
        }
        return false;
    }
    std::swap(state_->defs, next);
    const std::lock_guard lock(state_->mutex);
    if (state_->running != nullptr) {
        const std::shared_ptr<const mcp::registry> before = state_->running->registered();
        state_->running->replace(frozen);
        publish_changes(*state_->running, *before, *frozen);
    }
    return true;
}

}  // namespace pillion
