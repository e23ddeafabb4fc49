// Methods that run the user's handlers (methods of mcp/engine.hpp).
#include <exception>

#include "base/log.hpp"
#include "mcp/access_check.hpp"
#include "mcp/ask_chain.hpp"
#include "mcp/conventions.hpp"
#include "mcp/engine.hpp"
#include "mcp/kept_results.hpp"
#include "mcp/modern_checks.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

constexpr std::string_view name_required = R"({"field":"name","reason":"required"})";

task<> get_prompt(engine& e, request& r) {
    task<prompt_result> call = r.prompt->definition->handler(r.ctx, r.arguments);
    prompt_result out = co_await std::move(call);
    if (!r.replied) {
        const detail::result_state& state = *request::state_of(out);
        e.reply(r, prompt_reply(r, state));
    }
    e.finish(r);
}

task<resource_result> start_read(request& r) {
    if (r.resource != nullptr && r.resource->definition->handler) {
        return r.resource->definition->handler(r.ctx, r.target);
    }
    return r.provider->read(r.ctx, r.target);
}

task<> read_resource(engine& e, request& r) {
    task<resource_result> call = start_read(r);
    resource_result out = co_await std::move(call);
    if (!r.replied) {
        const detail::result_state& state = *request::state_of(out);
        e.reply(r, resource_reply(r, state));
    }
    e.finish(r);
}

task<> complete(engine& e, request& r, const completion_handler* handler, std::string_view typed,
                json::view known) {
    task<completion_result> call = (*handler)(r.ctx, typed, known);
    completion_result out = co_await std::move(call);
    if (!r.replied) {
        const detail::result_state& state = *request::state_of(out);
        e.reply(r, completion_reply(r, state));
    }
    e.finish(r);
}

// "Invalid arguments: /city: is required; /days: is above the maximum 14".
std::string_view in_words(request& r, const schema_check::report& why) {
    base::byte_buffer text(r.memory.pool());
    for (std::size_t i = 0; i < why.count; ++i) {
        const schema_check::failure& one = why.errors[i];
        text.append(i == 0 ? "Invalid arguments: " : "; ");
        text.append(one.path.empty() ? std::string_view("/") : safe_pointer(one.path, r.memory));
        text.append(": ");
        text.append(one.message);
    }
    return r.memory.dup(text.view());
}

void write_reason(request& r, json::writer& w, const schema_check::failure& one) {
    w.key_raw(R"("field":)");
    w.string_lossy(safe_pointer(one.path, r.memory));
    w.key_raw(R"("reason":)");
    w.string_lossy(one.reason);
}

// {"field":…,"reason":…} of the first fault, and all of them with what was expected.
std::string_view as_data(request& r, const schema_check::report& why) {
    base::byte_buffer data(r.memory.pool());
    json::writer w(data);
    w.begin_object();
    write_reason(r, w, why.errors[0]);
    w.key_raw(R"("errors":)");
    w.begin_array();
    for (std::size_t i = 0; i < why.count; ++i) {
        w.begin_object();
        write_reason(r, w, why.errors[i]);
        w.key_raw(R"("message":)");
        w.string_lossy(why.errors[i].message);
        w.end_object();
    }
    w.end_array();
    w.end_object();
    return r.memory.dup(data.view());
}

// Arguments that do not fit the schema: towards newer clients something the model can read and
// mend, towards older ones a protocol error (STANDARD row 80).
void refuse_arguments(engine& e, request& r, const schema_check::report& why) {
    r.outcome = "bad_arguments";
    if (bad_arguments_are_results(r.rev)) {
        tool_result out = r.ctx.error(in_words(r, why));
        request::state_of(out)->trusted = true;
        e.reply(r, tool_reply(r, *request::state_of(out)));
        return e.finish(r);
    }
    e.refuse(r, bad_params("Invalid arguments", as_data(r, why)));
}

// The handler's own decoder said no. The schema says better why, unless it asks for less: then a
// number does not fit into the handler's type.
void refuse_undecoded(engine& e, request& r, std::string_view field) {
    schema_check::report why;
    if (r.tool->input->validate(r.arguments, r.memory, why)) {
        char* const path = static_cast<char*>(r.memory.allocate(field.size() + 1, 1));
        *path = '/';
        field.copy(path + 1, field.size());
        why.count = 1;
        why.errors[0].path = {path, field.size() + 1};
        why.errors[0].reason = "range";
        why.errors[0].message = "is out of range";
    }
    refuse_arguments(e, r, why);
}

// What a tool gave, as the answer.
void tool_answer(engine& e, request& r, const tool_result& out) {
    const detail::result_state& state = *request::state_of(out);
    if (state.refused) {
        return refuse_undecoded(e, r, state.refused_field);
    }
    e.reply(r, tool_reply(r, state));
    e.finish(r);
}

task<> call_tool(engine& e, request& r) {
    task<tool_result> call = r.tool->definition->handler.async(r.ctx, r.arguments);
    tool_result out = co_await std::move(call);
    if (r.replied) {
        e.finish(r);
    } else {
        tool_answer(e, r, out);
    }
}

void call_plain(engine& e, request& r) {
    try {
        tool_result out = r.tool->definition->handler.plain(r.ctx, r.arguments);
        return tool_answer(e, r, out);
    } catch (const std::exception& fault) {
        log::error("mcp.handler_threw",
                   {log::kv("target", r.target), log::kv("request_id", r.request_id),
                    log::kv("what", log_text(r, fault.what()))});
    } catch (...) {
        log::error("mcp.handler_threw",
                   {log::kv("target", r.target), log::kv("request_id", r.request_id)});
    }
    fault why;
    why.code = rpc::internal_error;
    why.message = "Internal error";
    r.outcome = "exception";
    e.refuse(r, why);
}

void refuse_call(engine& e, request& r, const fault& why) {
    r.outcome = refused_by(why);
    e.refuse(r, why);
}

// The handler of a tool with a cap, which has its place.
task<> call_in_place(engine& e, request& r, std::shared_ptr<tool_gate> gate) {
    const tool_place place(e, *gate);
    if (r.tool->definition->handler.plain) {
        call_plain(e, r);
        co_return;
    }
    co_await call_tool(e, r);
}

// Waits for a place; true when it has one.
task<bool> wait_for_place(engine& e, request& r, tool_gate& gate) {
    queued_call waits(e, gate);
    // A task has time.
    const std::int64_t left =
        r.as_task == request::task_mode::none ? r.deadline_ns - e.loop().now_ns() : INT64_MAX;
    std::int64_t after_ns = 0;
    const tool_gate::outcome outcome = waits.enqueue(left, after_ns);
    if (outcome != tool_gate::outcome::waits) {
        const bool late = outcome == tool_gate::outcome::late;
        fault why;
        e.limits().refuse(late ? shed_by::deadline : shed_by::tool_queue, after_ns, why);
        refuse_call(e, r, why);
        co_return false;
    }
    co_await waits.turn().wait(&r.stop);
    if (r.stop.requested() || r.replied) {
        if (!r.replied) {
            fault why;
            why.code = rpc::unavailable;
            why.http_status = 503;
            why.message = "The server is shutting down";
            why.retry_after_s = 1;
            r.outcome = "unavailable";
            e.reply_error(r, why);
        }
        e.finish(r);
        co_return false;
    }
    waits.take_place();
    co_return true;
}

task<> call_queued(engine& e, request& r, std::shared_ptr<tool_gate> gate) {
    const bool inside = co_await wait_for_place(e, r, *gate);
    if (inside) {
        co_await call_in_place(e, r, std::move(gate));
    }
}

const completion_handler* find_completion(const registry& reg, json::view params, fault& why) {
    const json::view ref = params["ref"];
    const std::string_view argument = params["argument"]["name"].str();
    const std::string_view type = ref["type"].str();
    static const completion_handler none;
    if (type == "ref/prompt") {
        const prompt* p = reg.find_prompt(ref["name"].str());
        if (p == nullptr) {
            why = bad_params("Unknown prompt", R"({"field":"ref","reason":"not_found"})");
            return nullptr;
        }
        for (const detail::prompt_argument& a : p->definition->arguments) {
            if (a.name == argument) {
                return a.complete ? &a.complete : &none;
            }
        }
        why = bad_params("Unknown argument", R"({"field":"argument","reason":"not_found"})");
        return nullptr;
    }
    if (type == "ref/resource") {
        const resource* t = reg.find_template(ref["uri"].str());
        if (t == nullptr) {
            if (reg.find_resource(ref["uri"].str()) != nullptr) {
                return &none;
            }
            why =
                bad_params("Unknown resource template", R"({"field":"ref","reason":"not_found"})");
            return nullptr;
        }
        for (const std::string& name : t->pattern.variables()) {
            if (name == argument) {
                const auto at = t->definition->complete.find(name);
                return at == t->definition->complete.end() ? &none : &at->second;
            }
        }
        why = bad_params("Unknown argument", R"({"field":"argument","reason":"not_found"})");
        return nullptr;
    }
    why = bad_params("ref.type must be ref/prompt or ref/resource",
                     R"({"field":"ref.type","reason":"enum"})");
    return nullptr;
}

}  // namespace

void engine::method_tools_call(request& r) {
    const json::view name = r.usual.name;
    if (!name.is_string()) {
        return refuse(r, bad_params("name is required", name_required));
    }
    r.target = name.str();
    r.tool = r.registered().find_tool(r.target);
    if (r.tool == nullptr) {
        r.outcome = "not_found";
        return refuse(r, bad_params("Unknown tool", R"({"field":"name","reason":"not_found"})"));
    }
    fault why;
    if (!check_access(r, r.tool->definition->scopes, why)) {
        return refuse(r, why);
    }
    if (r.tool->gate != nullptr) {
        const std::int64_t wait_ns = r.tool->gate->take(loop_.now_ns());
        if (wait_ns > 0) {
            limiter_.refuse(limited_by::tool, wait_ns, why);
            return refuse_call(*this, r, why);
        }
    }
    r.arguments = r.usual.arguments;
    if (r.arguments.exists() && !r.arguments.is_object()) {
        return refuse(r, bad_params("arguments must be an object",
                                    R"({"field":"arguments","reason":"type"})"));
    }
    if (r.modern() && !check_param_headers(r, why)) {
        return refuse(r, why);
    }
    if (!r.arguments.exists()) {
        r.arguments = shared_.empty_object();
    }
    schema_check::failure misfit;
    if (!r.tool->definition->arguments_proven &&
        !r.tool->input->validate(r.arguments, r.memory, misfit)) {
        schema_check::report all;
        if (misfit.reason == "limit") {
            // It took long enough, and need not do so again.
            all.errors[all.count++] = misfit;
        } else {
            // That they do not fit is known; now all the reasons are wanted.
            r.tool->input->validate(r.arguments, r.memory, all);
        }
        return refuse_arguments(*this, r, all);
    }
    if ((r.modern() && !ask_chain::read(r, why)) || !begin_call(r, why)) {
        return refuse(r, why);
    }
    if (r.registered().has_tasks() && !choose_task(r, why)) {
        if (why.code != 0) {
            return refuse(r, why);
        }
        tool_result out = r.ctx.error("This tool runs as a task only, which needs a client of ",
                                      "protocol revision 2025-11-25 or later.");
        return tool_answer(*this, r, out);
    }
    if (r.tool->gate != nullptr && r.tool->gate->has_places()) {
        return run_gated(r);
    }
    if (r.tool->definition->handler.plain) {
        return call_plain(*this, r);
    }
    run(r, call_tool(*this, r));
}

void engine::run_gated(request& r) {
    // The gate has to outlive the request, and with it the registry.
    const std::shared_ptr<tool_gate>& gate = r.tool->gate;
    run(r, gate->try_enter() ? call_in_place(*this, r, gate) : call_queued(*this, r, gate));
}

void engine::method_prompts_get(request& r) {
    const json::view name = r.usual.name;
    if (!name.is_string()) {
        return refuse(r, bad_params("name is required", name_required));
    }
    r.target = name.str();
    r.prompt = r.registered().find_prompt(r.target);
    if (r.prompt == nullptr) {
        r.outcome = "not_found";
        return refuse(r, bad_params("Unknown prompt", R"({"field":"name","reason":"not_found"})"));
    }
    fault why;
    if (!check_access(r, r.prompt->definition->scopes, why)) {
        return refuse(r, why);
    }
    r.arguments = r.usual.arguments;
    if (r.arguments.exists() && !r.arguments.is_object()) {
        return refuse(r, bad_params("arguments must be an object",
                                    R"({"field":"arguments","reason":"type"})"));
    }
    for (const json::member m : r.arguments.members()) {
        if (!m.value.is_string()) {
            return refuse(r, bad_params("prompt arguments are strings",
                                        R"({"field":"arguments","reason":"type"})"));
        }
    }
    for (const detail::prompt_argument& a : r.prompt->definition->arguments) {
        if (a.required && !r.arguments[a.name].exists()) {
            base::byte_buffer data(loop_.chunks());
            json::writer w(data);
            w.fragment(R"({"field":)");
            w.string_lossy(a.name);
            w.fragment(R"(,"reason":"required"})");
            return refuse(r, bad_params("Missing required argument", r.memory.dup(data.view())));
        }
    }
    if ((r.modern() && !ask_chain::read(r, why)) || !begin_call(r, why)) {
        return refuse(r, why);
    }
    run(r, get_prompt(*this, r));
}

void engine::method_resources_read(request& r) {
    const json::view uri = r.usual.uri;
    if (!uri.is_string() || uri.str().empty()) {
        return refuse(r, bad_params("uri is required", R"({"field":"uri","reason":"required"})"));
    }
    r.target = uri.str();
    r.resource = r.registered().find_resource(r.target);
    if (r.resource == nullptr && is_kept_result(r, r.target)) {
        const resource_result kept = read_kept_result(r);
        if (request::state_of(kept)->code != 0) {
            r.outcome = "not_found";
        }
        reply(r, resource_reply(r, *request::state_of(kept)));
        return finish(r);
    }
    if (r.resource == nullptr) {
        r.variables = r.memory.array<template_value>(uri_template::variables_max);
        for (const resource& t : r.registered().templates()) {
            const auto count = t.definition->handler
                                   ? t.pattern.match(r.target, r.memory, r.variables)
                                   : std::nullopt;
            if (count) {
                r.variable_count = *count;
                r.resource = &t;
                break;
            }
        }
    }
    std::size_t provider = 0;
    if (r.resource == nullptr) {
        const bool own =
            !r.registered().corporate() || is_own_uri(r.target, r.registered().info().name);
        const auto& all = r.registered().providers();
        for (; own && provider < all.size(); ++provider) {
            if (all[provider]->owns(r.target)) {
                r.provider = all[provider].get();
                break;
            }
        }
        if (r.provider == nullptr) {
            resource_result none = r.ctx.not_found();
            const detail::result_state& state = *request::state_of(none);
            r.outcome = "not_found";
            reply(r, resource_reply(r, state));
            return finish(r);
        }
    }
    fault why;
    if (!check_access(r,
                      r.resource != nullptr ? r.resource->definition->scopes
                                            : r.registered().provider_scopes(provider),
                      why) ||
        (r.modern() && !ask_chain::read(r, why)) || !begin_call(r, why)) {
        return refuse(r, why);
    }
    run(r, read_resource(*this, r));
}

void engine::method_complete(request& r) {
    fault why;
    const json::view argument = r.params["argument"];
    if (!r.params["ref"].is_object() || !argument["name"].is_string() ||
        !argument["value"].is_string()) {
        return refuse(r, bad_params("ref and argument with name and value are required",
                                    R"({"field":"argument","reason":"required"})"));
    }
    const completion_handler* handler = find_completion(r.registered(), r.params, why);
    if (handler == nullptr || !check_reference_access(r, why)) {
        return refuse(r, why);
    }
    if (!*handler) {
        completion_result nothing = r.ctx.completion();
        reply(r, completion_reply(r, *request::state_of(nothing)));
        return finish(r);
    }
    if (!begin_call(r, why)) {
        return refuse(r, why);
    }
    run(r, complete(*this, r, handler, argument["value"].str(), r.params["context"]["arguments"]));
}

}  // namespace pillion::mcp
