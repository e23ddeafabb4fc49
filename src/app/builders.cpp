// The builders of include/pillion/server.hpp: they fill definitions.
#include <cmath>

#include <pillion/server.hpp>

#include "mcp/definitions.hpp"
#include "mcp/tool_gate.hpp"

namespace pillion {

json::builder& detail::scratch_builder() noexcept {
    thread_local json::builder text;
    text.clear();
    return text;
}

tool_builder& tool_builder::title(std::string text) {
    definition_->title = std::move(text);
    return *this;
}

tool_builder& tool_builder::about(std::string text) {
    definition_->description = std::move(text);
    return *this;
}

tool_builder& tool_builder::input(const schema& shape) {
    definition_->input_json = shape.json();
    return *this;
}

tool_builder& tool_builder::output(const schema& shape) {
    definition_->output_json = shape.json();
    return *this;
}

tool_builder& tool_builder::timeout(std::chrono::milliseconds limit) {
    definition_->timeout = limit;
    return *this;
}

tool_builder& tool_builder::timeout_max(std::chrono::milliseconds limit) {
    definition_->timeout_max = limit;
    return *this;
}

tool_builder& tool_builder::heartbeat(std::chrono::milliseconds every) {
    definition_->heartbeat = every;
    return *this;
}

tool_builder& tool_builder::rate(double calls_per_second, std::size_t burst) {
    definition_->calls.bad_rate = !(calls_per_second > 0) || std::isinf(calls_per_second);
    definition_->calls.per_second = calls_per_second;
    definition_->calls.burst = burst;
    return *this;
}

tool_builder& tool_builder::max_concurrent(std::size_t calls) {
    definition_->calls.concurrent = calls;
    return *this;
}

tool_builder& tool_builder::queue(std::size_t calls) {
    definition_->calls.queue = calls;
    definition_->calls.queue_given = true;
    return *this;
}

tool_builder& tool_builder::as_task(task_support how) {
    definition_->terms.support = how;
    return *this;
}

tool_builder& tool_builder::task_ttl(std::chrono::milliseconds kept) {
    definition_->terms.ttl = kept;
    return *this;
}

tool_builder& tool_builder::task_poll(std::chrono::milliseconds every) {
    definition_->terms.poll = every;
    return *this;
}

tool_builder& tool_builder::task_limit(std::chrono::milliseconds limit) {
    definition_->terms.limit = limit;
    return *this;
}

tool_builder& tool_builder::task_begins_later() {
    definition_->terms.begins_later = true;
    return *this;
}

tool_builder& tool_builder::scope(std::string needed) {
    definition_->scopes.push_back(std::move(needed));
    return *this;
}

tool_builder& tool_builder::read_only() {
    definition_->read_only = true;
    return *this;
}

tool_builder& tool_builder::destructive(bool yes) {
    definition_->destructive = yes;
    return *this;
}

tool_builder& tool_builder::idempotent(bool yes) {
    definition_->idempotent = yes;
    return *this;
}

tool_builder& tool_builder::open_world(bool yes) {
    definition_->open_world = yes;
    return *this;
}

tool_builder& tool_builder::risk(risk_level level) {
    definition_->effects.risk = level;
    return *this;
}

tool_builder& tool_builder::side_effects(std::string text) {
    definition_->effects.here = std::move(text);
    return *this;
}

tool_builder& tool_builder::external(external_effects what) {
    definition_->effects.outside = std::move(what);
    return *this;
}

tool_builder& tool_builder::deprecated(std::string date, std::string instead) {
    definition_->ends = {std::move(date), std::move(instead)};
    return *this;
}

tool_builder& tool_builder::add_icon(icon what) {
    definition_->icons.push_back(std::move(what));
    return *this;
}

tool_builder& tool_builder::meta(std::string key, std::string json) {
    definition_->meta.emplace_back(std::move(key), std::move(json));
    return *this;
}

void tool_builder::derive_input(const schema& shape, bool proven) {
    if (definition_->input_json.empty()) {
        definition_->input_json = shape.json();
        definition_->arguments_proven = proven;
    }
}

void tool_builder::derive_output(const schema& shape) {
    if (definition_->output_json.empty()) {
        definition_->output_json = shape.json();
        definition_->output_derived = true;
    }
}

void tool_builder::finish(detail::tool_handler handler) {
    definition_->handler = std::move(handler);
    if (!definition_->calls.bad_rate) {
        definition_->gate = mcp::make_tool_gate(definition_->calls);
    }
}

prompt_builder& prompt_builder::title(std::string text) {
    definition_->title = std::move(text);
    return *this;
}

prompt_builder& prompt_builder::about(std::string text) {
    definition_->description = std::move(text);
    return *this;
}

prompt_builder& prompt_builder::argument(std::string name, std::string description, bool required) {
    detail::prompt_argument a;
    a.name = std::move(name);
    a.description = std::move(description);
    a.required = required;
    definition_->arguments.push_back(std::move(a));
    return *this;
}

prompt_builder& prompt_builder::complete(completion_handler handler) {
    if (!definition_->arguments.empty()) {
        definition_->arguments.back().complete = std::move(handler);
    }
    return *this;
}

prompt_builder& prompt_builder::scope(std::string needed) {
    definition_->scopes.push_back(std::move(needed));
    return *this;
}

prompt_builder& prompt_builder::deprecated(std::string date, std::string instead) {
    definition_->ends = {std::move(date), std::move(instead)};
    return *this;
}

prompt_builder& prompt_builder::add_icon(icon what) {
    definition_->icons.push_back(std::move(what));
    return *this;
}

prompt_builder& prompt_builder::meta(std::string key, std::string json) {
    definition_->meta.emplace_back(std::move(key), std::move(json));
    return *this;
}

void prompt_builder::run(prompt_handler handler) { definition_->handler = std::move(handler); }

resource_builder& resource_builder::name(std::string text) {
    definition_->name = std::move(text);
    return *this;
}

resource_builder& resource_builder::title(std::string text) {
    definition_->title = std::move(text);
    return *this;
}

resource_builder& resource_builder::about(std::string text) {
    definition_->description = std::move(text);
    return *this;
}

resource_builder& resource_builder::mime_type(std::string text) {
    definition_->mime_type = std::move(text);
    return *this;
}

resource_builder& resource_builder::size(std::int64_t bytes) {
    definition_->size = bytes;
    return *this;
}

resource_builder& resource_builder::annotate(const content_annotations& what) {
    definition_->annotations = what;
    definition_->last_modified = std::string(what.last_modified);
    return *this;
}

resource_builder& resource_builder::scope(std::string needed) {
    definition_->scopes.push_back(std::move(needed));
    return *this;
}

resource_builder& resource_builder::deprecated(std::string date, std::string instead) {
    definition_->ends = {std::move(date), std::move(instead)};
    return *this;
}

resource_builder& resource_builder::add_icon(icon what) {
    definition_->icons.push_back(std::move(what));
    return *this;
}

resource_builder& resource_builder::meta(std::string key, std::string json) {
    definition_->meta.emplace_back(std::move(key), std::move(json));
    return *this;
}

resource_builder& resource_builder::complete(std::string variable, completion_handler handler) {
    definition_->complete[std::move(variable)] = std::move(handler);
    return *this;
}

namespace {

// A coroutine of its own: parameters live in its frame, the text in the definition.
task<resource_result> constant_text(context& ctx, const detail::resource_definition& d,
                                    const std::string& content) {
    co_return ctx.contents().text(d.uri, d.mime_type, content);
}

}  // namespace

void resource_builder::text(std::string content) {
    if (definition_->size < 0) {
        definition_->size = static_cast<std::int64_t>(content.size());
    }
    if (definition_->mime_type.empty()) {
        definition_->mime_type = "text/plain";
    }
    // The handler is kept in the definition, which outlives every request.
    definition_->handler = [d = definition_, text = std::move(content)](context& ctx,
                                                                        std::string_view) {
        return constant_text(ctx, *d, text);
    };
}

void resource_builder::run(resource_handler handler) { definition_->handler = std::move(handler); }

void resource_builder::served_by_provider() { definition_->by_provider = true; }

}  // namespace pillion
