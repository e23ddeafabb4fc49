// subscriptions/listen of 2026-07-28 (a method of mcp/engine.hpp; REVISIONS §11).
#include <deque>

#include "coro/sync.hpp"
#include "mcp/engine.hpp"
#include "mcp/modern_checks.hpp"
#include "mcp/task_replies.hpp"
#include "rpc/envelope.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

class subscription;

// What a subscription hears of one task.
class task_ear final : public task_watcher {
 public:
    task_ear(subscription& of, task_ref first) : of_(of), now_(std::move(first)) {}
    const task_ref& now() const noexcept { return now_; }
    void on_task(const task_ref& now) noexcept override;

 private:
    subscription& of_;
    task_ref now_;
};

// One open subscription; lives in the frame of its task.
class subscription final : public change_listener {
 public:
    subscription(request& r, json::view wanted) noexcept : request_(r) {
        const registry& reg = r.registered();
        tools_ = reg.has_tools() && wanted["toolsListChanged"].boolean();
        prompts_ = reg.has_prompts() && wanted["promptsListChanged"].boolean();
        resources_ = reg.has_resources() && wanted["resourcesListChanged"].boolean();
        uris_ = reg.has_resources() ? wanted["resourceSubscriptions"] : json::view{};
        for (const json::view uri : uris_.elements()) {
            r.engine.shared().subscriptions().add(uri.str());
        }
        for (const json::view id : wanted["taskIds"].elements()) {
            hear_task(id.str());
        }
    }
    subscription(const subscription&) = delete;
    subscription& operator=(const subscription&) = delete;
    ~subscription() {
        for (const json::view uri : uris_.elements()) {
            request_.engine.shared().subscriptions().remove(uri.str());
        }
        for (task_ear& one : tasks_heard_) {
            request_.engine.tasks().unwatch(one.now()->id, one);
        }
    }

    coro::event& ended() noexcept { return ended_; }

    // The first message: what will be told.
    void acknowledge() {
        base::byte_buffer out = request_.new_message();
        json::writer w(out);
        w.fragment(R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",)"
                   R"("params":{"notifications":{)");
        flag(w, R"("toolsListChanged":)", tools_);
        flag(w, R"("promptsListChanged":)", prompts_);
        flag(w, R"("resourcesListChanged":)", resources_);
        if (uris_.is_array()) {
            w.key_raw(R"("resourceSubscriptions":)");
            w.value(uris_);
        }
        if (!tasks_heard_.empty()) {
            w.key_raw(R"("taskIds":)");
            w.begin_array();
            for (const task_ear& one : tasks_heard_) {
                w.string(one.now()->id);
            }
            w.end_array();
        }
        w.end_object();
        tag(w);
        w.fragment("}}");
        send(std::move(out));
        // How they stand, or what happened before this began would never be heard of.
        for (const task_ear& one : tasks_heard_) {
            tell_task(*one.now());
        }
    }

    void tell_task(const task_record& now) noexcept {
        base::byte_buffer out = request_.new_message();
        json::writer w(out);
        w.fragment(R"({"jsonrpc":"2.0","method":"notifications/tasks","params":)");
        w.begin_object();
        write_detailed_task(w, now);
        tag(w);
        w.fragment("}}");
        send(std::move(out));
    }

    void on_change(const change_event& event) noexcept override {
        if (!wants(event)) {
            return;
        }
        base::byte_buffer out = request_.new_message();
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
        send(std::move(out));
    }
    void on_session_end(const session* /*which*/) noexcept override {}
    void on_drain() noexcept override { ended_.set(); }

 private:
    // Only tasks that this client may know of (REVISIONS §13).
    void hear_task(std::string_view id) {
        engine& e = request_.engine;
        for (const task_ear& one : tasks_heard_) {
            if (one.now()->id == id) {
                return;
            }
        }
        task_ref found = e.shared().tasks().find(id, e.loop().unix_ms());
        if (found != nullptr && found->owner == request_.principal && is_modern(found->rev)) {
            e.tasks().watch(id, tasks_heard_.emplace_back(*this, std::move(found)));
        }
    }

    // `"_meta":{"io.modelcontextprotocol/subscriptionId":<the request's id, its type kept>}`
    void tag(json::writer& w) const {
        w.key_raw(R"("_meta":{"io.modelcontextprotocol/subscriptionId":)");
        rpc::write_id(w, request_.id);
        w.fragment("}");
    }

    static void flag(json::writer& w, std::string_view key, bool on) {
        if (on) {
            w.key_raw(key);
            w.boolean(true);
        }
    }

    bool wants(const change_event& event) const noexcept {
        switch (event.what) {
            case change::tools:
                return tools_;
            case change::prompts:
                return prompts_;
            case change::resources:
                return resources_;
            case change::resource_updated:
                for (const json::view uri : uris_.elements()) {
                    if (uri.str() == event.uri) {
                        return true;
                    }
                }
                return false;
        }
        return false;
    }

    void send(base::byte_buffer message) noexcept {
        // A listener that does not read is cut by the stream's hard cap, not waited for.
        if (reply_channel* to = request_.channel) {
            to->notify(request_, std::move(message));
        }
    }

    request& request_;
    json::view uris_;
    std::deque<task_ear> tasks_heard_;
    bool tools_ = false;
    bool prompts_ = false;
    bool resources_ = false;
    coro::event ended_;
};

void task_ear::on_task(const task_ref& now) noexcept {
    if (now != nullptr) {
        now_ = now;
        of_.tell_task(*now);
    }
}

// A graceful end. Pipes hear the cancellation first, then the result (AMBIGUITIES G8).
void end_listening(engine& e, request& r) {
    if (r.replied) {
        return;
    }
    if (r.channel != nullptr && r.channel->is_pipe()) {
        base::byte_buffer out = r.new_message();
        json::writer w(out);
        w.fragment(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)");
        rpc::write_id(w, r.id);
        w.fragment(R"(,"reason":"server shutting down"}})");
        r.channel->notify(r, std::move(out));
    }
    base::byte_buffer out = r.new_message();
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","id":)");
    rpc::write_id(w, r.id);
    w.fragment(
        R"(,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":)");
    w.raw(r.registered().short_info());
    w.key_raw(R"("io.modelcontextprotocol/subscriptionId":)");
    rpc::write_id(w, r.id);
    w.fragment("}}}");
    e.reply(r, std::move(out));
}

task<> listen(engine& e, request& r) {
    {
        subscription s(r, r.params["notifications"]);
        e.changes().add(s);
        s.acknowledge();
        if (e.draining()) {
            s.ended().set();
        }
        co_await s.ended().wait(&r.stop);
        s.unlink();
        end_listening(e, r);
    }
    // The subscription reads what the request owns to its end.
    e.finish(r);
}

}  // namespace

void engine::method_listen(request& r) {
    const json::view wanted = r.params["notifications"];
    const json::view uris = wanted["resourceSubscriptions"];
    bool good = wanted.is_object() && (!uris.exists() || uris.is_array());
    for (const json::view uri : uris.elements()) {
        good = good && uri.is_string();
    }
    const json::view ids = wanted["taskIds"];
    good = good &&
           (!ids.exists() || (ids.is_array() && ids.size() <= limits::task_ids_per_listen_max));
    for (const json::view id : ids.elements()) {
        good = good && id.is_string();
    }
    for (const char* kind : {"toolsListChanged", "promptsListChanged", "resourcesListChanged"}) {
        good = good && (!wanted[kind].exists() || wanted[kind].is_bool());
    }
    if (!good) {
        fault f;
        f.code = rpc::invalid_params;
        f.message = "notifications is required";
        f.data_json = R"({"field":"notifications","reason":"required"})";
        return refuse(r, f);
    }
    if (ids.exists() && r.registered().has_tasks() && !knows_tasks(r)) {
        fault f;
        missing_tasks(f);
        return refuse(r, f);
    }
    run(r, listen(*this, r));
}

}  // namespace pillion::mcp
