#include "mcp/access_check.hpp"

#include "auth/scopes.hpp"
#include "base/log.hpp"
#include "mcp/engine.hpp"
#include "mcp/method.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

const detail::scope_list nothing;

// Of whatever a URI names; unknown ones need nothing.
const detail::scope_list& resource_scopes(request& r, std::string_view uri) {
    const registry& from = r.registered();
    if (const resource* const known = from.find_resource(uri); known != nullptr) {
        return known->definition->scopes;
    }
    template_value* const variables = r.memory.array<template_value>(uri_template::variables_max);
    for (const resource& t : from.templates()) {
        if (t.definition->handler && t.pattern.match(uri, r.memory, variables)) {
            return t.definition->scopes;
        }
    }
    for (std::size_t i = 0; i < from.providers().size(); ++i) {
        if (from.providers()[i]->owns(uri)) {
            return from.provider_scopes(i);
        }
    }
    return nothing;
}

const detail::scope_list& prompt_scopes(const registry& from, std::string_view name) {
    const prompt* const found = from.find_prompt(name);
    return found == nullptr ? nothing : found->definition->scopes;
}

const detail::scope_list& reference_scopes(const request& r) {
    const registry& from = r.registered();
    const json::view ref = r.params["ref"];
    if (ref["type"].str() == "ref/prompt") {
        return prompt_scopes(from, ref["name"].str());
    }
    const std::string_view uri = ref["uri"].str();
    const resource* found = from.find_template(uri);
    found = found != nullptr ? found : from.find_resource(uri);
    return found == nullptr ? nothing : found->definition->scopes;
}

// Of what the request is about, where that is one thing.
const detail::scope_list& target_scopes(request& r) {
    const tool* found = nullptr;
    switch (r.mid) {
        case method_id::tools_call:
            found = r.registered().find_tool(r.usual.name.str());
            return found == nullptr ? nothing : found->definition->scopes;
        case method_id::prompts_get:
            return prompt_scopes(r.registered(), r.usual.name.str());
        case method_id::resources_read:
        case method_id::resources_subscribe:
            return resource_scopes(r, r.usual.uri.str());
        case method_id::completion_complete:
            return reference_scopes(r);
        default:
            return nothing;
    }
}

// REVISIONS §14: names all that is needed at once, so that one round to the issuer is enough.
void forbid(request& r, const detail::scope_list& needed, fault& why) {
    detail::scope_list all = r.registered().method_scopes(r.mid);
    auth::add_scopes(all, needed);
    auth::add_scopes(all, target_scopes(r));
    r.lacking = r.memory.dup(auth::joined(all));
    r.outcome = "forbidden";
    why.code = rpc::invalid_request;
    why.http_status = 403;
    why.message = "Insufficient scope";
    // For those who see no header: scope-tokens need no escape.
    base::byte_buffer data(r.memory.pool());
    data.append(R"({"reason":"insufficient_scope","scope":")");
    data.append(r.lacking);
    data.append(R"("})");
    why.data_json = r.memory.dup(data.view());
    log::info("auth.forbidden",
              {log::kv("request_id", r.request_id), log::kv("principal", r.principal),
               log::kv("method", name_of(r.mid)), log::kv("target", log_text(r, r.target)),
               log::kv("scope", r.lacking)});
}

// Gives the scopes to what has that name, if it was registered after the `since`th. False: nothing
// has it.
template <class List, class NameOf>
bool guard_named(const List& list, const detail::operator_scopes& rule, std::uint32_t since,
                 NameOf&& name_of) {
    bool known = false;
    for (const auto& one : list) {
        known = known || name_of(*one) == rule.name;
        if (name_of(*one) == rule.name && one->serial > since) {
            one->scopes = rule.scopes;
        }
    }
    return known;
}

bool apply_rule(const detail::operator_scopes& rule, detail::definitions& to, std::uint32_t since,
                const detail::expected_names& expected) {
    using kind = detail::operator_scopes::kind;
    const auto may_come = [&] { return expected && expected(rule.name); };
    const auto name = [](const auto& one) -> const std::string& { return one.name; };
    const auto uri = [](const auto& one) -> const std::string& { return one.uri; };
    switch (rule.of) {
        case kind::tool:
            return guard_named(to.tools, rule, since, name) || may_come();
        case kind::prompt:
            return guard_named(to.prompts, rule, since, name) || may_come();
        case kind::resource:
            return guard_named(to.resources, rule, since, uri);
        default:
            break;
    }
    if (find_method(rule.name) == method_id::unknown) {
        return false;
    }
    to.method_scopes[rule.name] = rule.scopes;
    return true;
}

}  // namespace

bool may(const request& r, const detail::scope_list& needed) noexcept {
    return needed.empty() || !r.payer.limited || auth::covers(r.payer.scopes, needed);
}

bool check_access(request& r, const detail::scope_list& needed, fault& why) {
    if (may(r, needed)) [[likely]] {
        return true;
    }
    forbid(r, needed, why);
    return false;
}

bool check_method_access(request& r, fault& why) {
    return check_access(r, r.registered().method_scopes(r.mid), why);
}

bool check_resource_access(request& r, std::string_view uri, fault& why) {
    return !r.payer.limited || !r.registered().guards(guarded::resources) ||
           check_access(r, resource_scopes(r, uri), why);
}

bool check_reference_access(request& r, fault& why) {
    return check_access(r, reference_scopes(r), why);
}

void apply_operator_scopes(detail::definitions& to, registration_faults& faults,
                           std::uint32_t since, const detail::expected_names& expected) {
    constexpr const char* sections[] = {"tools", "prompts", "resources", "methods"};
    for (const detail::operator_scopes& rule : to.guards) {
        if (!apply_rule(rule, to, since, expected)) {
            const char* const section = sections[static_cast<std::size_t>(rule.of)];
            faults.add({section, rule.name, "scopes",
                        std::string(section) + "." + rule.name +
                            ".scopes: there is nothing of that name"});
        }
    }
}

}  // namespace pillion::mcp
