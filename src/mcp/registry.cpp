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

void check_meta(const detail::meta_list& meta, faults_of_one& faults) {
    for (const auto& [key, json] : meta) {
        if (!json::document::parse(json)) {
            faults.add("_meta member \"" + key + "\" is not JSON");
        }
    }
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

void check_end(const detail::deprecation& ends, faults_of_one& faults) {
    if (!ends.date.empty() && !is_date(ends.date)) {
        faults.add("deprecated() takes a date such as 2027-03-31", "deprecated");
    }
}

// The schemas that others may refer to, parsed: those given by URI, and what has an "$id".
class schema_library {
 public:
    void read(const detail::definitions& from, registration_faults& faults) {
        for (const auto& [uri, text] : from.schemas) {
            add(uri, text, faults_of_one(faults, "", "", "shared schema \"" + uri + "\""), "");
        }
        for (const auto& given : from.tools) {
            for (const std::string* text : {&given->input_json, &given->output_json}) {
                const auto parsed = json::document::parse(*text);
                const std::string_view id = parsed ? parsed->root()["$id"].str() : "";
                if (!id.empty()) {
                    add(std::string(id), *text,
                        faults_of_one(faults, "tools", given->name,
                                      "tool \"" + given->name + "\": $id " + std::string(id)),
                        text == &given->input_json ? "input" : "output");
                }
            }
        }
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
    void add(std::string uri, const std::string& text, faults_of_one faults, const char* part) {
        auto parsed = json::document::parse(text);
        if (!parsed) {
            return faults.add(std::string("not JSON: ") + parsed.error().detail, part);
        }
        for (const shelved& one : all_) {
            if (one.uri == uri && one.text != text) {
                return faults.add("two different schemas have this URI", part);
            }
            if (one.uri == uri) {
                return;
            }
        }
        all_.push_back({std::move(uri), text, std::move(*parsed)});
    }

    std::vector<shelved> all_;
};

// A schema text that is compiled, and what it is of.
struct schema_part {
    const std::string& text;
    const char* key;     // of the configuration
    const char* called;  // in faults
};

// Null with a fault.
std::unique_ptr<schema_check::validator> compile(const schema_part& part,
                                                 const schema_library& library,
                                                 bool& is_object_schema,
                                                 std::vector<schema_check::header_param>* params,
                                                 faults_of_one& faults) {
    const auto fault = [&](const std::string& why) {
        faults.add(std::string(part.called) + ": " + why, part.key);
        return nullptr;
    };
    auto parsed = json::document::parse(part.text);
    if (!parsed) {
        return fault(std::string("not JSON: ") + parsed.error().detail);
    }
    const json::view root = parsed->root();
    is_object_schema = root["type"].str() == "object";
    std::string detail;
    const auto documents = library.for_schema(part.text);
    schema_check::compile_options how;
    how.documents = documents;
    auto made = schema_check::validator::compile(root, detail, how);
    if (made == nullptr) {
        return fault(detail);
    }
    if (params != nullptr && !schema_check::collect_header_params(root, *params, detail)) {
        return fault(detail);
    }
    return made;
}

constexpr std::string_view no_arguments = R"({"type":"object","additionalProperties":false})";

std::string cursor_behind(list_kind kind, std::uint32_t serial, std::string_view name) {
    base::chunk_pool pool;
    base::arena memory(pool);
    return std::string(encode_cursor({kind, serial, name}, memory));
}

// What a tool may not be; what it should not be is added to `warnings`.
void check_definition(const detail::tool_definition& d, const std::string& where,
                      faults_of_one& faults, std::vector<std::string>& warnings) {
    if (d.name.empty() || !base::utf8::validate(d.name)) {
        faults.add("a tool needs a name");
    } else if (!conventional_name(d.name)) {
        warnings.push_back(where + ": the name should be 1-128 of [A-Za-z0-9_.-]");
    }
    if (d.description.empty()) {
        warnings.push_back(where + ": has no description");
    }
    if (!d.handler.async && !d.handler.plain) {
        faults.add("has no handler, call run()");
    }
    if (d.terms.ttl.count() <= 0 || d.terms.poll.count() <= 0) {
        faults.add("task_ttl() and task_poll() must be positive");
    }
    if (d.timeout_max.count() > 0 && d.timeout_max < d.timeout) {
        faults.add("timeout_max() must not be shorter than timeout()");
    }
    if (d.calls.bad_rate) {
        faults.add("rate() must be a number of calls above 0");
    }
    if (d.calls.queue_given && d.calls.concurrent == 0) {
        faults.add("queue() needs max_concurrent()");
    }
    check_meta(d.meta, faults);
    check_end(d.ends, faults);
}

}  // namespace

void registry::add_tools(registration_faults& faults, std::vector<std::string>& warnings) {
    schema_library library;
    library.read(from_, faults);
    tools_.reserve(from_.tools.size());
    for (const auto& given : from_.tools) {
        const detail::tool_definition& d = *given;
        const std::string where = "tool \"" + d.name + "\"";
        faults_of_one wrong(faults, "tools", d.name, where);
        check_definition(d, where, wrong, warnings);
        tool t;
        t.definition = &d;
        t.cursor = cursor_behind(list_kind::tools, d.serial, d.name);
        t.gate = d.gate;
        t.timeout_ms = d.timeout.count();
        t.timeout_max_ms = d.timeout_max.count();
        bool object_input = false;
        const std::string input = d.input_json.empty() ? std::string(no_arguments) : d.input_json;
        t.input = compile({input, "input", "input schema"}, library, object_input, &t.header_params,
                          wrong);
        if (t.input != nullptr && !object_input) {
            wrong.add("input schema: the root must have \"type\":\"object\"", "input");
        }
        if (!d.output_json.empty()) {
            t.output = compile({d.output_json, "output", "output schema"}, library,
                               t.output_is_object, nullptr, wrong);
        }
        if (!tool_index_.add(d.name, tools_.size())) {
            wrong.add("registered twice");
        }
        // One that is at fault cannot be rendered, and need not be: nothing is served.
        if (wrong.good()) {
            tool_texts_.add(
                render_all([&](revision r) { return render_tool(d, t.output_is_object, r); }));
            tools_.push_back(std::move(t));
        }
    }
    tool_texts_.publish(tools_);
}

void registry::add_prompts(registration_faults& faults) {
    prompts_.reserve(from_.prompts.size());
    for (const auto& given : from_.prompts) {
        const detail::prompt_definition& d = *given;
        faults_of_one wrong(faults, "prompts", d.name, "prompt \"" + d.name + "\"");
        if (d.name.empty()) {
            wrong.add("needs a name");
        }
        if (!d.handler) {
            wrong.add("has no handler, call run()");
        }
        check_meta(d.meta, wrong);
        check_end(d.ends, wrong);
        for (const detail::prompt_argument& a : d.arguments) {
            has_completions_ = has_completions_ || a.complete;
        }
        if (!prompt_index_.add(d.name, prompts_.size())) {
            wrong.add("registered twice");
        }
        if (!wrong.good()) {
            continue;
        }
        prompt p;
        p.definition = &d;
        p.cursor = cursor_behind(list_kind::prompts, d.serial, d.name);
        prompt_texts_.add(render_all([&](revision r) { return render_prompt(d, r); }));
        prompts_.push_back(std::move(p));
    }
    prompt_texts_.publish(prompts_);
}

void registry::add_resources(registration_faults& faults) {
    resources_.reserve(from_.resources.size());
    templates_.reserve(from_.resources.size());
    for (const auto& given : from_.resources) {
        const detail::resource_definition& d = *given;
        faults_of_one wrong(faults, "resources", d.uri, "resource \"" + d.uri + "\"");
        if (d.uri.empty() || d.name.empty()) {
            wrong.add("needs a URI and a name");
        }
        if (!d.handler && !(d.is_template && d.by_provider)) {
            wrong.add("has no handler, call run() or text()");
        }
        check_meta(d.meta, wrong);
        check_end(d.ends, wrong);
        has_completions_ = has_completions_ || !d.complete.empty();
        resource r;
        r.definition = &d;
        r.cursor = cursor_behind(d.is_template ? list_kind::templates : list_kind::resources,
                                 d.serial, d.uri);
        if (d.is_template) {
            std::string detail;
            auto pattern = uri_template::parse(d.uri, detail);
            if (pattern) {
                r.pattern = std::move(*pattern);
            } else {
                wrong.add(detail);
            }
        }
        auto& list = d.is_template ? templates_ : resources_;
        auto& names = d.is_template ? template_index_ : resource_index_;
        if (!names.add(d.uri, list.size())) {
            wrong.add("registered twice");
        }
        if (wrong.good()) {
            auto& texts = d.is_template ? template_texts_ : resource_texts_;
            texts.add(render_all([&](revision v) { return render_resource(d, v); }));
            list.push_back(std::move(r));
        }
    }
    resource_texts_.publish(resources_);
    template_texts_.publish(templates_);
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

void registry::follow_conventions(registration_faults& faults,
                                  std::vector<std::string>& warnings) const {
    for (finding& one : check_conventions(from_)) {
        if (one.must) {
            faults.add({one.section, std::move(one.name), "",
                        "the corporate profile does not allow this: " + one.text});
        } else {
            warnings.push_back(std::move(one.text));
        }
    }
}

void registry::note_scopes(const detail::scope_list& of, bool* guard, faults_of_one faults) {
    if (!std::all_of(of.begin(), of.end(), [](const auto& one) { return auth::is_scope(one); })) {
        return faults.add("a scope is 1 to 128 visible ASCII characters, no \" and no \\",
                          "scopes");
    }
    auth::add_scopes(scopes_, of);
    *guard = *guard || !of.empty();
}

void registry::add_scopes(registration_faults& faults) {
    const auto guard = [this](guarded what) { return &guards_[static_cast<std::size_t>(what)]; };
    for (const tool& t : tools_) {
        const detail::tool_definition& d = *t.definition;
        note_scopes(d.scopes, guard(guarded::tools), {faults, "tools", d.name, "tool " + d.name});
    }
    for (const prompt& p : prompts_) {
        const detail::prompt_definition& d = *p.definition;
        note_scopes(d.scopes, guard(guarded::prompts),
                    {faults, "prompts", d.name, "prompt " + d.name});
    }
    for (const auto* list : {&resources_, &templates_}) {
        for (const resource& x : *list) {
            const detail::resource_definition& d = *x.definition;
            faults_of_one wrong(faults, "resources", d.uri, "resource " + d.uri);
            note_scopes(d.scopes, guard(guarded::resources), wrong);
            if (d.by_provider && !d.scopes.empty()) {
                wrong.add("its provider reads it, and has the scopes", "scopes");
            }
        }
    }
    from_.provider_scopes.resize(from_.providers.size());
    for (const detail::scope_list& one : from_.provider_scopes) {
        note_scopes(one, guard(guarded::resources), {faults, "", "", "a provider"});
    }
    for (const auto& [name, scopes] : from_.method_scopes) {
        const method_id m = find_method(name);
        bool ignored = false;
        if (m == method_id::unknown) {
            faults.add({"methods", name, "", "there is no method " + name});
            continue;
        }
        note_scopes(scopes, &ignored, {faults, "methods", name, name});
        method_scopes_[static_cast<std::size_t>(m)] = scopes;
    }
}

std::unique_ptr<const registry> registry::freeze(const detail::definitions& from,
                                                 registration_faults& faults,
                                                 std::vector<std::string>& warnings) {
    registration_faults found;
    auto r = std::make_unique<registry>();
    r->from_ = from;
    r->page_size_ = from.page_size == 0 ? limits::page_size : from.page_size;
    if (from.info.name.empty() || from.info.version.empty()) {
        found.add({"", "", "", "a server needs a name and a version"});
    }
    r->add_tools(found, warnings);
    r->add_prompts(found);
    r->add_resources(found);
    r->add_scopes(found);
    if (r->corporate()) {
        r->follow_conventions(found, warnings);
    }
    if (!found.empty()) {
        faults.add_all(std::move(found));
        return nullptr;
    }
    r->render_server();
    return r;
}

std::unique_ptr<const registry> registry::freeze(const detail::definitions& from,
                                                 std::string& fault,
                                                 std::vector<std::string>& warnings) {
    registration_faults faults;
    auto made = freeze(from, faults, warnings);
    fault = faults.joined();
    return made;
}

}  // namespace pillion::mcp
