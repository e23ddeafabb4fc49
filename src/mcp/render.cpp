#include "mcp/render.hpp"

#include <pillion/json.hpp>

namespace pillion::mcp {

namespace {

void put_all_icons(json::builder& b, std::span<const icon> icons) {
    b.begin_array();
    for (const icon& i : icons) {
        b.begin_object().member("src", i.src);
        if (!i.mime_type.empty()) {
            b.member("mimeType", i.mime_type);
        }
        if (!i.sizes.empty()) {
            b.key("sizes").begin_array();
            for (const std::string& size : i.sizes) {
                b.value(size);
            }
            b.end_array();
        }
        if (!i.theme.empty()) {
            b.member("theme", i.theme);
        }
        b.end_object();
    }
    b.end_array();
}

void put_icons(json::builder& b, const std::vector<icon>& icons, revision r) {
    if (!icons.empty() && has_icons(r)) {
        b.key("icons");
        put_all_icons(b, icons);
    }
}

void put_meta(json::builder& b, const detail::meta_list& meta, revision r) {
    if (meta.empty() || !has_definition_meta(r)) {
        return;
    }
    b.key("_meta").begin_object();
    for (const auto& [key, json] : meta) {
        b.key(key).raw(json);
    }
    b.end_object();
}

void put_title(json::builder& b, const std::string& title, revision r) {
    if (!title.empty() && has_titles(r)) {
        b.member("title", title);
    }
}

void put_description(json::builder& b, const std::string& text) {
    if (!text.empty()) {
        b.member("description", text);
    }
}

// The description, behind the announcement of its end (STANDARD row 116).
void put_description(json::builder& b, const std::string& text, const detail::deprecation& ends) {
    if (ends.date.empty()) {
        return put_description(b, text);
    }
    std::string all = "[DEPRECATED] To be removed after " + ends.date;
    all += ends.instead.empty() ? "." : "; use " + ends.instead + " instead.";
    all += (text.empty() ? "" : " ") + text;
    put_description(b, all);
}

// … and before what it changes, a line each (STANDARD rows 73 to 75).
std::string with_effects(const detail::tool_definition& t) {
    std::string all = t.description;
    const auto say = [&all](std::string_view what, std::string_view text) {
        if (!text.empty()) {
            all.append(all.empty() ? "" : "\n").append(what).append(text);
        }
    };
    constexpr std::string_view levels[] = {"low", "medium", "high"};
    const detail::tool_effects& effects = t.effects;
    say("Side effects: ", effects.here);
    say("Risk: ", effects.risk ? levels[static_cast<std::size_t>(*effects.risk)] : "");
    if (effects.outside) {
        say("Idempotency: ", effects.outside->idempotency);
        say("Retries: ", effects.outside->retries);
        say("Timeout: ", effects.outside->timeout);
        say("Audit: ", effects.outside->audit);
        say("Approval: ", effects.outside->approval);
    }
    return all;
}

void put_hints(json::builder& b, const detail::tool_definition& t, revision r) {
    const bool any = t.read_only || t.destructive || t.idempotent || t.open_world;
    if (!has_tool_annotations(r) || (!any && t.title.empty())) {
        return;
    }
    b.key("annotations").begin_object();
    // The only place for a title before 2025-06-18.
    if (!t.title.empty()) {
        b.member("title", t.title);
    }
    const auto hint = [&b](std::string_view name, const std::optional<bool>& value) {
        if (value) {
            b.member(name, *value);
        }
    };
    hint("readOnlyHint", t.read_only);
    hint("destructiveHint", t.destructive);
    hint("idempotentHint", t.idempotent);
    hint("openWorldHint", t.open_world);
    b.end_object();
}

}  // namespace

std::string render_tool(const detail::tool_definition& t, bool output_is_object, revision r) {
    json::builder b;
    b.begin_object().member("name", t.name);
    put_title(b, t.title, r);
    put_description(b, with_effects(t), t.ends);
    b.key("inputSchema")
        .raw(t.input_json.empty() ? R"({"type":"object","additionalProperties":false})"
                                  : std::string_view(t.input_json));
    if (!t.output_json.empty() && has_structured_output(r) &&
        (output_is_object || has_any_output_schema(r))) {
        b.key("outputSchema").raw(t.output_json);
    }
    put_hints(b, t, r);
    if (t.terms.support != task_support::forbidden && has_task_param(r)) {
        b.key("execution").begin_object();
        b.member("taskSupport",
                 t.terms.support == task_support::required ? "required" : "optional");
        b.end_object();
    }
    put_icons(b, t.icons, r);
    put_meta(b, t.meta, r);
    b.end_object();
    return std::string(b.text());
}

std::string render_prompt(const detail::prompt_definition& p, revision r) {
    json::builder b;
    b.begin_object().member("name", p.name);
    put_title(b, p.title, r);
    put_description(b, p.description, p.ends);
    if (!p.arguments.empty()) {
        b.key("arguments").begin_array();
        for (const detail::prompt_argument& a : p.arguments) {
            b.begin_object().member("name", a.name);
            put_description(b, a.description);
            b.member("required", a.required).end_object();
        }
        b.end_array();
    }
    put_icons(b, p.icons, r);
    put_meta(b, p.meta, r);
    b.end_object();
    return std::string(b.text());
}

std::string render_resource(const detail::resource_definition& d, revision r) {
    json::builder b;
    b.begin_object().member(d.is_template ? "uriTemplate" : "uri", d.uri).member("name", d.name);
    put_title(b, d.title, r);
    put_description(b, d.description, d.ends);
    if (!d.mime_type.empty()) {
        b.member("mimeType", d.mime_type);
    }
    if (d.size >= 0 && !d.is_template) {
        b.member("size", d.size);
    }
    if (d.annotations) {
        const content_annotations& a = *d.annotations;
        b.key("annotations").begin_object();
        if (a.for_user || a.for_assistant) {
            b.key("audience").begin_array();
            if (a.for_user) {
                b.value("user");
            }
            if (a.for_assistant) {
                b.value("assistant");
            }
            b.end_array();
        }
        if (a.priority >= 0) {
            b.member("priority", a.priority);
        }
        if (!d.last_modified.empty() && has_last_modified(r)) {
            b.member("lastModified", d.last_modified);
        }
        b.end_object();
    }
    put_icons(b, d.icons, r);
    put_meta(b, d.meta, r);
    b.end_object();
    return std::string(b.text());
}

std::string render_icons(std::span<const icon> icons) {
    json::builder b;
    put_all_icons(b, icons);
    return std::string(b.text());
}

std::string render_implementation(const detail::implementation_info& info, revision r) {
    json::builder b;
    b.begin_object().member("name", info.name).member("version", info.version);
    put_title(b, info.title, r);
    if (has_icons(r)) {
        put_description(b, info.description);
        if (!info.website.empty()) {
            b.member("websiteUrl", info.website);
        }
        put_icons(b, info.icons, r);
    }
    b.end_object();
    return std::string(b.text());
}

std::string render_capabilities(const offer& what, revision r) {
    json::builder b;
    b.begin_object();
    if (what.tools) {
        b.key("tools").begin_object().member("listChanged", true).end_object();
    }
    if (what.prompts) {
        b.key("prompts").begin_object().member("listChanged", true).end_object();
    }
    if (what.resources) {
        b.key("resources").begin_object().member("subscribe", true);
        b.member("listChanged", true).end_object();
    }
    if (what.completions && has_completions_flag(r)) {
        b.key("completions").begin_object().end_object();
    }
    b.key("logging").begin_object().end_object();
    if (what.tasks && has_task_param(r)) {
        b.key("tasks").begin_object();
        b.key("list").begin_object().end_object();
        b.key("cancel").begin_object().end_object();
        b.key("requests").begin_object().key("tools").begin_object();
        b.key("call").begin_object().end_object().end_object().end_object();
        b.end_object();
    }
    if (what.tasks && is_modern(r)) {
        b.key("extensions").begin_object();
        b.key("io.modelcontextprotocol/tasks").begin_object().end_object();
        b.end_object();
    }
    b.end_object();
    return std::string(b.text());
}

}  // namespace pillion::mcp
