// subscriptions/listen of 2026-07-28 (a method of mcp/engine.hpp; REVISIONS §11).
#include "coro/sync.hpp"
#include "mcp/engine.hpp"
#include "mcp/modern_checks.hpp"
#include "rpc/envelope.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

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
    }
    subscription(const subscription&) = delete;
    subscription& operator=(const subscription&) = delete;
    ~subscription() {
        for (const json::view uri : uris_.elements()) {
            request_.engine.shared().subscriptions().remove(uri.str());
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
        w.end_object();
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
    bool tools_ = false;
    bool prompts_ = false;
    bool resources_ = false;
    coro::event ended_;
};

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
    run(r, listen(*this, r));
}

}  // namespace pillion::mcp
