#include "mcp/subscription.hpp"

#include <algorithm>

#include "mcp/task_replies.hpp"
#include "rpc/envelope.hpp"

namespace pillion::mcp {

namespace {

std::string own_id(const request& r) {
    base::byte_buffer text(r.engine.loop().chunks());
    json::writer w(text);
    rpc::write_id(w, r.id);
    return std::string(text.view());
}

void flag(json::writer& w, std::string_view key, bool on) {
    if (on) {
        w.key_raw(key);
        w.boolean(true);
    }
}

}  // namespace

subscription::subscription(const request& r, subscriber& to)
    : engine_(r.engine), to_(to), id_(own_id(r)) {
    const json::view wanted = r.params["notifications"];
    const registry& reg = r.registered();
    tools_ = reg.has_tools() && wanted["toolsListChanged"].boolean();
    prompts_ = reg.has_prompts() && wanted["promptsListChanged"].boolean();
    resources_ = reg.has_resources() && wanted["resourcesListChanged"].boolean();
    const json::view uris = reg.has_resources() ? wanted["resourceSubscriptions"] : json::view{};
    lists_uris_ = uris.is_array();
    uris_.reserve(uris.size());
    for (const json::view uri : uris.elements()) {
        uris_.emplace_back(uri.str());
        engine_.shared().subscriptions().add(uri.str());
    }
    for (const json::view id : wanted["taskIds"].elements()) {
        hear_task(r, id.str());
    }
}

subscription::~subscription() {
    for (const std::string& uri : uris_) {
        engine_.shared().subscriptions().remove(uri);
    }
    for (task_ear& one : tasks_) {
        engine_.tasks().unwatch(one.now->id, one);
    }
}

// Only tasks that this client may know of (REVISIONS §13).
void subscription::hear_task(const request& r, std::string_view id) {
    for (const task_ear& one : tasks_) {
        if (one.now->id == id) {
            return;
        }
    }
    task_ref found = engine_.shared().tasks().find(id, engine_.loop().unix_ms());
    if (found != nullptr && found->owner == r.principal && is_modern(found->rev)) {
        engine_.tasks().watch(id, tasks_.emplace_back(*this, std::move(found)));
    }
}

// What was posted before this listener looked at the store is old news.
void subscription::task_ear::on_task(const task_ref& changed) noexcept {
    if (changed != nullptr && changed->change > now->change) {
        now = changed;
        untold = true;
        of_.tell_tasks();
    }
}

// Of a task that changes while its client reads slowly only the last state is told.
void subscription::tell_tasks() noexcept {
    for (task_ear& one : tasks_) {
        if (!one.untold || to_.must_wait()) {
            continue;
        }
        one.untold = false;
        base::byte_buffer out = to_.new_message();
        json::writer w(out);
        w.fragment(R"({"jsonrpc":"2.0","method":"notifications/tasks","params":)");
        w.begin_object();
        write_detailed_task(w, *one.now);
        tag(w);
        w.fragment("}}");
        to_.send_task(std::move(out));
    }
}

bool subscription::wants(const change_event& event) const noexcept {
    switch (event.what) {
        case change::tools:
            return tools_;
        case change::prompts:
            return prompts_;
        case change::resources:
            return resources_;
        case change::resource_updated:
            return std::find(uris_.begin(), uris_.end(), event.uri) != uris_.end();
    }
    return false;
}

void subscription::write_acknowledgement(base::byte_buffer& out) const {
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",)"
               R"("params":{"notifications":{)");
    flag(w, R"("toolsListChanged":)", tools_);
    flag(w, R"("promptsListChanged":)", prompts_);
    flag(w, R"("resourcesListChanged":)", resources_);
    if (lists_uris_) {
        w.key_raw(R"("resourceSubscriptions":)");
        w.begin_array();
        for (const std::string& uri : uris_) {
            w.string_lossy(uri);
        }
        w.end_array();
    }
    if (!tasks_.empty()) {
        w.key_raw(R"("taskIds":)");
        w.begin_array();
        for (const task_ear& one : tasks_) {
            w.string(one.now->id);
        }
        w.end_array();
    }
    w.end_object();
    tag(w);
    w.fragment("}}");
}

void subscription::write_change(base::byte_buffer& out, const change_event& event) const {
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","method":)");
    w.string(notification_of(event.what));
    w.fragment(R"(,"params":{)");
    if (event.what == change::resource_updated) {
        w.key_raw(R"("uri":)");
        w.string_lossy(event.uri);
    }
    tag(w);
    w.fragment("}}");
}

void subscription::write_result(base::byte_buffer& out) const {
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","id":)");
    w.raw(id_);
    w.fragment(
        R"(,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":)");
    w.raw(engine_.registered().short_info());
    w.key_raw(R"("io.modelcontextprotocol/subscriptionId":)");
    w.raw(id_);
    w.fragment("}}}");
}

// `"_meta":{"io.modelcontextprotocol/subscriptionId":<the request's id, its type kept>}`
void subscription::tag(json::writer& w) const {
    w.key_raw(R"("_meta":{"io.modelcontextprotocol/subscriptionId":)");
    w.raw(id_);
    w.fragment("}");
}

}  // namespace pillion::mcp
