#include "sidecar/bridge_offer.hpp"

#include <algorithm>
#include <utility>

#include <pillion/schema.hpp>

#include "base/log.hpp"
#include "json/document.hpp"
#include "mcp/uri_template.hpp"
#include "schema/header_params.hpp"
#include "schema/validator.hpp"
#include "sidecar/bridge_calls.hpp"
#include "sidecar/field_import.hpp"

namespace pillion::sidecar {

namespace {

bool is_in(const std::vector<std::string>& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

void leave_out(const bridge_spec& spec, const std::string& name, std::string_view why) {
    log::warn("bridge.left_out",
              {log::kv("server", spec.name), log::kv("name", name), log::kv("reason", why)});
}

// Without its "$id", which is meant where it comes from: schemas here refer to each other by it,
// and another server may give it to another one.
std::string without_id(json::view from) {
    json::builder b;
    b.begin_object();
    for (const json::member one : from.members()) {
        if (one.key != "$id") {
            b.member(one.key, one.value);
        }
    }
    b.end_object();
    return std::string(b.text());
}

// Whether a schema is one that the registry takes; `params`: what it says about headers as well.
bool is_usable(const std::string& text, bool params, std::string& why) {
    const auto parsed = json::document::parse(text);
    std::vector<schema_check::header_param> unused;
    return parsed && schema_check::validator::compile(parsed->root(), why) != nullptr &&
           (!params || schema_check::collect_header_params(parsed->root(), unused, why));
}

// The schema itself, or one that takes every object.
schema usable(const bridge_spec& spec, const std::string& name, json::view from) {
    std::string why;
    if (from.is_object() && from["type"].str() == "object") {
        std::string text = without_id(from);
        if (is_usable(text, true, why)) {
            return schema::raw(std::move(text));
        }
    }
    log::info("bridge.schema_not_checked",
              {log::kv("server", spec.name), log::kv("tool", name), log::kv("reason", why)});
    return schema::raw(R"({"type":"object"})");
}

template <class Builder>
void pass_on(Builder& to, json::view from) {
    if (from["title"].is_string()) {
        to.title(std::string(from["title"].str()));
    }
    if (from["description"].is_string()) {
        to.about(std::string(from["description"].str()));
    }
    for (icon& one : import_icons(from["icons"])) {
        to.add_icon(std::move(one));
    }
    for (const json::member one : from["_meta"].members()) {
        if (is_outward_meta(one.key)) {
            to.meta(std::string(one.key), json_text(one.value));
        }
    }
}

// Which page shows what the tool gives (MCP Apps, in its present form and in the one before).
std::string_view page_of(json::view meta) {
    return meta["ui"]["resourceUri"].str(meta["ui/resourceUri"].str());
}

void offer_tool(catalog& to, bridge& by, const bridge_spec& spec, json::view from,
                offered_names& names) {
    const std::string inner(from["name"].str());
    const std::string outer = outer_name(spec, inner);
    if (outer.empty() || inner.empty()) {
        return;
    }
    if (to.has_tool(outer)) {
        return leave_out(spec, outer, "there is a tool of this name");
    }
    tool_builder tool = to.tool(outer);
    names.tools.push_back(outer);
    if (const std::string_view page = page_of(from["_meta"]); !page.empty()) {
        names.pages.emplace_back(page);
    }
    pass_on(tool, from);
    tool.input(usable(spec, outer, from["inputSchema"]));
    if (from["outputSchema"].is_object()) {
        std::string output = without_id(from["outputSchema"]);
        std::string ignored;
        if (is_usable(output, false, ignored)) {
            tool.output(schema::raw(std::move(output)));
        }
    }
    const json::view hints = from["annotations"];
    if (hints["readOnlyHint"].boolean()) {
        tool.read_only();
    }
    const auto hint = [&hints, &tool](const char* name, tool_builder& (tool_builder::*set)(bool)) {
        if (hints[name].is_bool()) {
            (tool.*set)(hints[name].boolean());
        }
    };
    hint("destructiveHint", &tool_builder::destructive);
    hint("idempotentHint", &tool_builder::idempotent);
    hint("openWorldHint", &tool_builder::open_world);
    if (!from["title"].is_string() && hints["title"].is_string()) {
        tool.title(std::string(hints["title"].str()));
    }
    tool.run([&by, what = bridged_name(spec, inner)](context& ctx, json::view arguments) {
        return call_tool(by, what, ctx, arguments);
    });
}

std::string prompt_reference(const std::string& name) {
    json::builder b;
    b.begin_object().member("type", "ref/prompt").member("name", name).end_object();
    return std::string(b.text());
}

std::string resource_reference(const std::string& uri) {
    json::builder b;
    b.begin_object().member("type", "ref/resource").member("uri", uri).end_object();
    return std::string(b.text());
}

completion_handler completing(bridge& by, const bridge_spec& spec, std::string reference,
                              std::string argument) {
    return
        [&by, server = spec.name, reference = std::move(reference), argument = std::move(argument)](
            context& ctx, std::string_view typed, json::view known) {
            return complete(by, server, reference, argument, ctx, typed, known);
        };
}

void offer_prompt(catalog& to, bridge& by, const bridge_spec& spec, const offered_lists& lists,
                  json::view from, offered_names& names) {
    const std::string inner(from["name"].str());
    const std::string outer = outer_name(spec, inner);
    if (outer.empty() || inner.empty()) {
        return;
    }
    if (to.has_prompt(outer)) {
        return leave_out(spec, outer, "there is a prompt of this name");
    }
    prompt_builder prompt = to.prompt(outer);
    names.prompts.push_back(outer);
    pass_on(prompt, from);
    if (from["arguments"].is_array()) {
        for (const json::view one : from["arguments"].elements()) {
            const std::string name(one["name"].str());
            prompt.argument(name, std::string(one["description"].str()), one["required"].boolean());
            if (lists.completions) {
                prompt.complete(completing(by, spec, prompt_reference(inner), name));
            }
        }
    }
    prompt.run([&by, what = bridged_name(spec, inner)](context& ctx, json::view arguments) {
        return get_prompt(by, what, ctx, arguments);
    });
}

void offer_template(catalog& to, bridge& by, const bridge_spec& spec, const offered_lists& lists,
                    json::view from, offered_names& names) {
    const std::string uri(from["uriTemplate"].str());
    std::string why;
    const auto form = mcp::uri_template::parse(uri, why);
    if (!form) {
        return leave_out(spec, uri, why);
    }
    if (to.has_template(uri)) {
        return leave_out(spec, uri, "there is a template like this");
    }
    resource_builder made = to.resource_template(uri);
    names.templates.push_back(uri);
    pass_on(made, from);
    made.name(std::string(from["name"].str(uri)));
    if (from["mimeType"].is_string()) {
        made.mime_type(std::string(from["mimeType"].str()));
    }
    if (from["annotations"].is_object()) {
        made.annotate(import_annotations(from["annotations"]));
    }
    if (lists.completions) {
        for (const std::string& variable : form->variables()) {
            made.complete(variable, completing(by, spec, resource_reference(uri), variable));
        }
    }
    made.served_by_provider();
}

template <class Each>
void for_each(const std::vector<std::string>& list, Each each) {
    for (const std::string& text : list) {
        if (const auto parsed = json::document::parse(text)) {
            each(parsed->root());
        }
    }
}

}  // namespace

std::string outer_name(const bridge_spec& spec, std::string_view name) {
    if (is_in(spec.deny, name) || (!spec.allow.empty() && !is_in(spec.allow, name))) {
        return {};
    }
    const auto renamed = spec.rename.find(std::string(name));
    return renamed != spec.rename.end() ? renamed->second : spec.prefix + std::string(name);
}

bool may_offer(const std::vector<bridge_spec>& all, std::string_view name) {
    return std::any_of(all.begin(), all.end(), [name](const bridge_spec& one) {
        const auto is_it = [&](std::string_view inner) {
            return !inner.empty() && outer_name(one, inner) == name;
        };
        return (name.starts_with(one.prefix) && is_it(name.substr(one.prefix.size()))) ||
               std::any_of(one.rename.begin(), one.rename.end(),
                           [&](const auto& renamed) { return is_it(renamed.first); });
    });
}

offered_names offer(catalog& to, bridge& by, const bridge_spec& spec, const offered_lists& lists) {
    offered_names names;
    std::string only_tasks;
    for_each(lists[list_kind::tools], [&](json::view one) {
        if (lists.tasks && one["execution"]["taskSupport"].str() == "required") {
            const std::string outer = outer_name(spec, one["name"].str());
            only_tasks.append(only_tasks.empty() || outer.empty() ? "" : ", ").append(outer);
        } else {
            offer_tool(to, by, spec, one, names);
        }
    });
    if (!only_tasks.empty()) {
        leave_out(spec, only_tasks, "it can be called as a task alone, which we do not do");
    }
    for_each(lists[list_kind::prompts],
             [&](json::view one) { offer_prompt(to, by, spec, lists, one, names); });
    for_each(lists[list_kind::templates],
             [&](json::view one) { offer_template(to, by, spec, lists, one, names); });
    return names;
}

void withdraw(catalog& from, const offered_names& names) {
    for (const std::string& name : names.tools) {
        from.remove_tool(name);
    }
    for (const std::string& name : names.prompts) {
        from.remove_prompt(name);
    }
    for (const std::string& uri : names.templates) {
        from.remove_template(uri);
    }
}

}  // namespace pillion::sidecar
