#include "mcp/registry.hpp"

#include <algorithm>

#include "auth/scopes.hpp"
#include "base/ascii.hpp"
#include "base/limits.hpp"
#include "base/utf8.hpp"
#include "json/document.hpp"
#include "mcp/conventions.hpp"
#include "mcp/cursor.hpp"
#include "mcp/render.hpp"

namespace pillion::mcp {

namespace {

// 1–128 characters of [A-Za-z0-9_.-] (2025-11-25 and later, SHOULD).
bool conventional_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == '-';
    });
}

rendered render_all(const auto& render_one) {
    rendered out;
    for (std::size_t i = 0; i < revisions; ++i) {
        out[i] = render_one(static_cast<revision>(i));
    }
    return out;
}

bool check_meta(const detail::meta_list& meta, const std::string& where, std::string& fault) {
    for (const auto& [key, json] : meta) {
        if (!json::document::parse(json)) {
            fault = where + ": _meta member \"" + key + "\" is not JSON";
            return false;
        }
    }
    return true;
}

bool is_date(std::string_view text) noexcept {
    constexpr std::string_view shape = "0000-00-00";
    if (text.size() != shape.size()) {
        return false;
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == '0' ? !base::is_digit(text[i]) : text[i] != '-') {
            return false;
        }
    }
    return true;
}

bool check_end(const detail::deprecation& ends, const std::string& where, std::string& fault) {
    if (ends.date.empty() || is_date(ends.date)) {
        return true;
    }
    fault = where + ": deprecated() takes a date such as 2027-03-31";
    return false;
}

// The schemas that others may refer to, parsed: those given by URI, and what has an "$id".
class schema_library {
 public:
    // False with a fault.
    bool read(const detail::definitions& from, std::string& fault) {
        for (const auto& [uri, text] : from.schemas) {
            if (!add(uri, text, "shared schema \"" + uri + "\"", fault)) {
                return false;
            }
        }
        for (const auto& given : from.tools) {
            for (const std::string* text : {&given->input_json, &given->output_json}) {
                const auto parsed = json::document::parse(*text);
                const std::string_view id = parsed ? parsed->root()["$id"].str() : "";
                if (!id.empty() &&
                    !add(std::string(id), *text,
                         "tool \"" + given->name + "\": $id " + std::string(id), fault)) {
                    return false;
                }
            }
        }
        return true;
    }
    // What `text` may refer to: all but itself.
    std::vector<schema_check::schema_document> for_schema(const std::string& text) const {
        std::vector<schema_check::schema_document> others;
        for (const shelved& one : all_) {
            if (one.text != text) {
                others.push_back({one.uri, one.parsed.root()});
            }
        }
        return others;
    }

 private:
    struct shelved {
        std::string uri;
        std::string text;
        json::document parsed;
    };
    bool add(std::string uri, const std::string& text, const std::string& where,
             std::string& fault) {
        auto parsed = json::document::parse(text);
        if (!parsed) {
            fault = where + ": not JSON: " + parsed.error().detail;
            return false;
        }
        for (const shelved& one : all_) {
            if (one.uri == uri && one.text != text) {
                fault = where + ": two different schemas have this URI";
                return false;
            }
            if (one.uri == uri) {
                return true;
            }
        }
        all_.push_back({std::move(uri), text, std::move(*parsed)});
        return true;
    }

    std::vector<shelved> all_;
};

// Compiles a schema text; false with a fault.
bool compile(const std::string& text, const schema_library& library, const std::string& where,
             std::unique_ptr<schema_check::validator>& out, bool& is_object_schema,
             std::vector<schema_check::header_param>* params, std::string& fault) {
    auto parsed = json::document::parse(text);
    if (!parsed) {
        fault = where + ": not JSON: " + parsed.error().detail;
        return false;
    }
    const json::view root = parsed->root();
    is_object_schema = root["type"].str() == "object";
    std::string detail;
    const auto documents = library.for_schema(text);
    schema_check::compile_options how;
    how.documents = documents;
    out = schema_check::validator::compile(root, detail, how);
    if (out == nullptr) {
        fault = where + ": " + detail;
        return false;
    }
    if (params != nullptr && !schema_check::collect_header_params(root, *params, detail)) {
        fault = where + ": " + detail;
        return false;
    }
    return true;
}

constexpr std::string_view no_arguments = R"({"type":"object","additionalProperties":false})";

std::string cursor_behind(list_kind kind, std::uint32_t serial, std::string_view name) {
    base::chunk_pool pool;
    base::arena memory(pool);
    return std::string(encode_cursor({kind, serial, name}, memory));
}

// What a tool may not be; what it should not be is added to `warnings`.
bool check_definition(const detail::tool_definition& d, const std::string& where,
                      std::string& fault, std::vector<std::string>& warnings) {
    if (d.name.empty() || !base::utf8::validate(d.name)) {
        fault = where + ": a tool needs a name";
        return false;
    }
    if (!conventional_name(d.name)) {
        warnings.push_back(where + ": the name should be 1-128 of [A-Za-z0-9_.-]");
    }
    if (d.description.empty()) {
        warnings.push_back(where + ": has no description");
    }
    if (!d.handler.async && !d.handler.plain) {
        fault = where + ": has no handler, call run()";
        return false;
    }
    if (d.terms.ttl.count() <= 0 || d.terms.poll.count() <= 0) {
        fault = where + ": task_ttl() and task_poll() must be positive";
        return false;
    }
    if (d.timeout_max.count() > 0 && d.timeout_max < d.timeout) {
        fault = where + ": timeout_max() must not be shorter than timeout()";
        return false;
    }
    if (d.calls.bad_rate) {
        fault = where + ": rate() must be a number of calls above 0";
        return false;
    }
    if (d.calls.queue_given && d.calls.concurrent == 0) {
        fault = where + ": queue() needs max_concurrent()";
        return false;
    }
    if (!check_meta(d.meta, where, fault) || !check_end(d.ends, where, fault)) {
        return false;
    }
    return true;
}

}  // namespace

bool registry::add_tools(std::string& fault, std::vector<std::string>& warnings) {
    schema_library library;
    if (!library.read(from_, fault)) {
        return false;
    }
    tools_.reserve(from_.tools.size());
    for (const auto& given : from_.tools) {
        const detail::tool_definition& d = *given;
        const std::string where = "tool \"" + d.name + "\"";
        if (!check_definition(d, where, fault, warnings)) {
            return false;
        }
        tool t;
        t.definition = &d;
        t.cursor = cursor_behind(list_kind::tools, d.serial, d.name);
        t.gate = d.gate;
        t.timeout_ms = d.timeout.count();
        t.timeout_max_ms = d.timeout_max.count();
        bool object_input = false;
        const std::string input = d.input_json.empty() ? std::string(no_arguments) : d.input_json;
        if (!compile(input, library, where + ": input schema", t.input, object_input,
                     &t.header_params, fault)) {
            return false;
        }
        if (!object_input) {
            fault = where + ": input schema: the root must have \"type\":\"object\"";
            return false;
        }
        if (!d.output_json.empty() && !compile(d.output_json, library, where + ": output schema",
                                               t.output, t.output_is_object, nullptr, fault)) {
            return false;
        }
        tool_texts_.add(
            render_all([&](revision r) { return render_tool(d, t.output_is_object, r); }));
        if (!tool_index_.add(d.name, tools_.size())) {
            fault = where + ": registered twice";
            return false;
        }
        tools_.push_back(std::move(t));
    }
    tool_texts_.publish(tools_);
    return true;
}

bool registry::add_prompts(std::string& fault) {
    prompts_.reserve(from_.prompts.size());
    for (const auto& given : from_.prompts) {
        const detail::prompt_definition& d = *given;
        const std::string where = "prompt \"" + d.name + "\"";
        if (d.name.empty() || !d.handler) {
            fault = where + (d.name.empty() ? ": needs a name" : ": has no handler, call run()");
            return false;
        }
        if (!check_meta(d.meta, where, fault) || !check_end(d.ends, where, fault)) {
            return false;
        }
        for (const detail::prompt_argument& a : d.arguments) {
            has_completions_ = has_completions_ || a.complete;
        }
        if (!prompt_index_.add(d.name, prompts_.size())) {
            fault = where + ": registered twice";
            return false;
        }
        prompt p;
        p.definition = &d;
        p.cursor = cursor_behind(list_kind::prompts, d.serial, d.name);
        prompt_texts_.add(render_all([&](revision r) { return render_prompt(d, r); }));
        prompts_.push_back(std::move(p));
    }
    prompt_texts_.publish(prompts_);
    return true;
}

bool registry::add_resources(std::string& fault) {
    resources_.reserve(from_.resources.size());
    templates_.reserve(from_.resources.size());
    for (const auto& given : from_.resources) {
        const detail::resource_definition& d = *given;
        const std::string where = "resource \"" + d.uri + "\"";
        if (d.uri.empty() || d.name.empty()) {
            fault = where + ": needs a URI and a name";
            return false;
        }
        if (!d.handler && !(d.is_template && d.by_provider)) {
            fault = where + ": has no handler, call run() or text()";
            return false;
        }
        if (!check_meta(d.meta, where, fault) || !check_end(d.ends, where, fault)) {
            return false;
        }
        has_completions_ = has_completions_ || !d.complete.empty();
        resource r;
        r.definition = &d;
        r.cursor = cursor_behind(d.is_template ? list_kind::templates : list_kind::resources,
                                 d.serial, d.uri);
        if (d.is_template) {
            std::string detail;
            auto pattern = uri_template::parse(d.uri, detail);
            if (!pattern) {
                fault = where + ": " + detail;
                return false;
            }
            r.pattern = std::move(*pattern);
        }
        auto& texts = d.is_template ? template_texts_ : resource_texts_;
        texts.add(render_all([&](revision v) { return render_resource(d, v); }));
        auto& list = d.is_template ? templates_ : resources_;
        auto& names = d.is_template ? template_index_ : resource_index_;
        if (!names.add(d.uri, list.size())) {
            fault = where + ": registered twice";
            return false;
        }
        list.push_back(std::move(r));
    }
    resource_texts_.publish(resources_);
    template_texts_.publish(templates_);
    return true;
}

void registry::render_server() {
    offer what;
    what.tools = has_tools();
    what.prompts = has_prompts();
    what.resources = has_resources();
    what.completions = has_completions_;
    has_tasks_ = from_.offered_tasks;
    for (const tool& t : tools_) {
        has_tasks_ = has_tasks_ || t.definition->terms.support != task_support::forbidden;
    }
    what.tasks = has_tasks_;
    implementation_ = render_all([&](revision r) { return render_implementation(info(), r); });
    capabilities_ = render_all([&](revision r) { return render_capabilities(what, r); });
    detail::implementation_info brief;
    brief.name = info().name;
    brief.version = info().version;
    short_info_ = render_implementation(brief, modern);
}

bool registry::follow_conventions(std::string& fault, std::vector<std::string>& warnings) const {
    std::string wrong;
    for (finding& one : check_conventions(from_)) {
        if (!one.must) {
            warnings.push_back(std::move(one.text));
        } else {
            wrong += (wrong.empty() ? "" : "; ") + one.text;
        }
    }
    if (!wrong.empty()) {
        fault = "the corporate profile does not allow this: " + wrong;
    }
    return wrong.empty();
}

bool registry::note_scopes(const detail::scope_list& of, const std::string& whose, bool* guard,
                           std::string& fault) {
    for (const std::string& one : of) {
        if (!auth::is_scope(one)) {
            fault = whose + ": a scope is 1 to 128 visible ASCII characters, no \" and no \\";
            return false;
        }
    }
    auth::add_scopes(scopes_, of);
    *guard = *guard || !of.empty();
    return true;
}

bool registry::add_scopes(std::string& fault) {
    const auto guard = [this](guarded what) { return &guards_[static_cast<std::size_t>(what)]; };
    bool good = true;
    for (const tool& t : tools_) {
        const detail::tool_definition& d = *t.definition;
        good = good && note_scopes(d.scopes, "tool " + d.name, guard(guarded::tools), fault);
    }
    for (const prompt& p : prompts_) {
        const detail::prompt_definition& d = *p.definition;
        good = good && note_scopes(d.scopes, "prompt " + d.name, guard(guarded::prompts), fault);
    }
    for (const auto* list : {&resources_, &templates_}) {
        for (const resource& x : *list) {
            const detail::resource_definition& d = *x.definition;
            good = good &&
                   note_scopes(d.scopes, "resource " + d.uri, guard(guarded::resources), fault);
            if (d.by_provider && !d.scopes.empty()) {
                fault = "resource " + d.uri + ": its provider reads it, and has the scopes";
                return false;
            }
        }
    }
    from_.provider_scopes.resize(from_.providers.size());
    for (const detail::scope_list& one : from_.provider_scopes) {
        good = good && note_scopes(one, "a provider", guard(guarded::resources), fault);
    }
    for (const auto& [name, scopes] : from_.method_scopes) {
        const method_id m = find_method(name);
        bool ignored = false;
        if (m == method_id::unknown) {
            fault = "there is no method " + name;
            return false;
        }
        good = good && note_scopes(scopes, name, &ignored, fault);
        method_scopes_[static_cast<std::size_t>(m)] = scopes;
    }
    return good;
}

std::unique_ptr<const registry> registry::freeze(const detail::definitions& from,
                                                 std::string& fault,
                                                 std::vector<std::string>& warnings) {
    auto r = std::make_unique<registry>();
    r->from_ = from;
    r->page_size_ = from.page_size == 0 ? limits::page_size : from.page_size;
    if (from.info.name.empty() || from.info.version.empty()) {
        fault = "a server needs a name and a version";
        return nullptr;
    }
    if (!r->add_tools(fault, warnings) || !r->add_prompts(fault) || !r->add_resources(fault) ||
        !r->add_scopes(fault)) {
        return nullptr;
    }
    if (r->corporate() && !r->follow_conventions(fault, warnings)) {
        return nullptr;
    }
    r->render_server();
    return r;
}

}  // namespace pillion::mcp
