// registry: the frozen form of the definitions, ready to serve: names indexed, schemas compiled,
// every list entry rendered once per revision.
//
// Immutable after freeze(): all shards read it without locks. A server that changes while it runs
// gets another one; every request keeps the one it began with (engine.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/definitions.hpp"
#include "mcp/entry_texts.hpp"
#include "mcp/method.hpp"
#include "mcp/name_table.hpp"
#include "mcp/registration_faults.hpp"
#include "mcp/revision.hpp"
#include "mcp/tool_gate.hpp"
#include "mcp/uri_template.hpp"
#include "schema/header_params.hpp"
#include "schema/validator.hpp"

namespace pillion::mcp {

struct tool {
    const detail::tool_definition* definition = nullptr;
    std::unique_ptr<schema_check::validator> input;   // null: takes no arguments, none are checked
    std::unique_ptr<schema_check::validator> output;  // null: none
    bool output_is_object = false;
    std::vector<schema_check::header_param> header_params;
    std::int64_t timeout_ms = 0;      // 0: the server's
    std::int64_t timeout_max_ms = 0;  // 0: progress does not extend it
    std::shared_ptr<tool_gate> gate;  // null: neither rate nor cap
    rendered_entry entry;
    std::string cursor;  // nextCursor of a page that ends here
};

struct prompt {
    const detail::prompt_definition* definition = nullptr;
    rendered_entry entry;
    std::string cursor;  // nextCursor of a page that ends here
};

struct resource {
    const detail::resource_definition* definition = nullptr;
    uri_template pattern;  // templates only
    rendered_entry entry;
    std::string cursor;  // nextCursor of a page that ends here
};

// What has scopes that a list depends on.
enum class guarded : std::uint8_t { tools, prompts, resources };

class registry {
 public:
    // Checks and compiles everything. Returns null and adds to `faults` all that is wrong
    // (duplicate name, malformed schema, resource without handler; in the corporate profile also
    // what conventions.hpp says); `warnings` collects what is legal but unwise (names some clients
    // refuse).
    static std::unique_ptr<const registry> freeze(const detail::definitions& from,
                                                  registration_faults& faults,
                                                  std::vector<std::string>& warnings);
    // The same with all faults on one line, which is empty when there is none.
    static std::unique_ptr<const registry> freeze(const detail::definitions& from,
                                                  std::string& fault,
                                                  std::vector<std::string>& warnings);

    // nullptr when there is none of that name or URI.
    const tool* find_tool(std::string_view name) const noexcept {
        return one_of(tools_, tool_index_.find(name));
    }
    const prompt* find_prompt(std::string_view name) const noexcept {
        return one_of(prompts_, prompt_index_.find(name));
    }
    const resource* find_resource(std::string_view uri) const noexcept {
        return one_of(resources_, resource_index_.find(uri));
    }
    const resource* find_template(std::string_view uri_template) const noexcept {
        return one_of(templates_, template_index_.find(uri_template));
    }

    // In the order of registration.
    const std::vector<tool>& tools() const noexcept { return tools_; }
    const std::vector<prompt>& prompts() const noexcept { return prompts_; }
    const std::vector<resource>& resources() const noexcept { return resources_; }
    const std::vector<resource>& templates() const noexcept { return templates_; }
    const std::vector<std::shared_ptr<resource_provider>>& providers() const noexcept {
        return from_.providers;
    }

    // What the provider's resources need, and a method whatever its target.
    const detail::scope_list& provider_scopes(std::size_t index) const noexcept {
        return from_.provider_scopes[index];
    }
    const detail::scope_list& method_scopes(method_id m) const noexcept {
        return method_scopes_[static_cast<std::size_t>(m)];
    }
    // Whether some of them, templates and provided ones among the resources, need a scope.
    bool guards(guarded what) const noexcept { return guards_[static_cast<std::size_t>(what)]; }
    // All scopes that something needs.
    const detail::scope_list& scopes() const noexcept { return scopes_; }

    const detail::implementation_info& info() const noexcept { return from_.info; }
    std::size_t page_size() const noexcept { return page_size_; }
    bool corporate() const noexcept { return from_.profile == server_profile::corporate; }
    // Members of error.data that handlers may give, beside those everybody knows.
    const std::vector<std::string>& error_members() const noexcept { return from_.error_members; }
    std::int64_t cache_ttl_ms() const noexcept { return from_.cache_ttl.count(); }

    bool has_tools() const noexcept { return !tools_.empty() || from_.offered_tools; }
    bool has_prompts() const noexcept { return !prompts_.empty() || from_.offered_prompts; }
    bool has_resources() const noexcept {
        return from_.offered_resources || !resources_.empty() || !templates_.empty() ||
               !from_.providers.empty();
    }
    bool has_completions() const noexcept { return has_completions_; }
    // Some tool may run as a task.
    bool has_tasks() const noexcept { return has_tasks_; }

    // Pre-rendered per revision: the Implementation object and the capabilities object.
    std::string_view implementation_json(revision r) const noexcept {
        return implementation_[static_cast<std::size_t>(r)];
    }
    std::string_view capabilities_json(revision r) const noexcept {
        return capabilities_[static_cast<std::size_t>(r)];
    }
    // Name and version alone: what every 2026-07-28 result carries. server/discover has the rest.
    std::string_view short_info() const noexcept { return short_info_; }

 private:
    template <class Item>
    static const Item* one_of(const std::vector<Item>& all, std::size_t at) noexcept {
        return at == name_table::none ? nullptr : &all[at];
    }
    void add_tools(registration_faults& faults, std::vector<std::string>& warnings);
    void add_prompts(registration_faults& faults);
    void add_resources(registration_faults& faults);
    void follow_conventions(registration_faults& faults, std::vector<std::string>& warnings) const;
    void add_scopes(registration_faults& faults);
    void note_scopes(const detail::scope_list& of, bool* guard, faults_of_one faults);
    void render_server();

    detail::definitions from_;
    std::size_t page_size_ = 0;
    bool has_completions_ = false;
    bool has_tasks_ = false;
    std::array<detail::scope_list, methods> method_scopes_;
    std::array<bool, 3> guards_{};
    detail::scope_list scopes_;
    std::vector<tool> tools_;
    std::vector<prompt> prompts_;
    std::vector<resource> resources_;
    std::vector<resource> templates_;
    name_table tool_index_;
    name_table prompt_index_;
    name_table resource_index_;
    name_table template_index_;
    entry_texts tool_texts_;
    entry_texts prompt_texts_;
    entry_texts resource_texts_;
    entry_texts template_texts_;
    rendered implementation_;
    rendered capabilities_;
    std::string short_info_;
};

}  // namespace pillion::mcp
