// subscriptions/listen of 2026-07-28 (a method of mcp/engine.hpp; REVISIONS §11).
#include "coro/sync.hpp"
#include "mcp/access_check.hpp"
#include "mcp/engine.hpp"
#include "mcp/listen_stream.hpp"
#include "mcp/modern_checks.hpp"
#include "mcp/paced_listener.hpp"
#include "mcp/subscription.hpp"
#include "mcp/task_replies.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

constexpr std::int64_t a_minute_ns = 60'000'000'000;

// An open subscription of a pipe, where it stays a request that can be cancelled; lives in the
// frame of its task.
class pipe_listener final : public paced_listener, private subscriber {
 public:
    explicit pipe_listener(request& r) : paced_listener(r.engine), request_(r), wanted_(r, *this) {
        engine_.pipe_listen_began();
    }
    ~pipe_listener() { engine_.pipe_listen_ended(); }

    coro::event& ended() noexcept { return ended_; }

    void acknowledge() noexcept {
        base::byte_buffer out = request_.new_message();
        wanted_.write_acknowledgement(out);
        send(std::move(out));
        // What happened to them before this began would else never be heard of.
        wanted_.tell_tasks();
    }

    // A graceful end. Pipes hear the cancellation first, then the result (AMBIGUITIES G8).
    void end() {
        if (request_.replied) {
            return;
        }
        if (request_.channel != nullptr && request_.channel->is_pipe()) {
            base::byte_buffer out = request_.new_message();
            json::writer w(out);
            w.fragment(
                R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)");
            w.raw(wanted_.id_json());
            w.fragment(R"(,"reason":"server shutting down"}})");
            send(std::move(out));
        }
        base::byte_buffer out = request_.new_message();
        wanted_.write_result(out);
        engine_.reply(request_, std::move(out));
    }

    void on_session_end(const session* /*which*/) noexcept override {}
    void on_drain() noexcept override { ended_.set(); }
    void on_writable() noexcept override {
        catch_up();
        wanted_.tell_tasks();
    }

 private:
    bool tell(const change_event& event) noexcept override {
        if (!wanted_.wants(event)) {
            return true;
        }
        base::byte_buffer out = request_.new_message();
        wanted_.write_change(out, event);
        return send(std::move(out));
    }

    base::byte_buffer new_message() const noexcept override { return request_.new_message(); }
    bool must_wait() const noexcept override { return behind(); }
    void send_task(base::byte_buffer message) noexcept override {
        if (!send(std::move(message))) {
            fall_behind();
        }
    }
    bool send(base::byte_buffer message) noexcept {
        reply_channel* const to = request_.channel;
        return to == nullptr || to->notify(request_, std::move(message));
    }

    request& request_;
    subscription wanted_;
    coro::event ended_;
};

task<> listen(engine& e, request& r) {
    {
        pipe_listener l(r);
        e.changes().add(l);
        l.acknowledge();
        if (e.draining()) {
            l.ended().set();
        }
        co_await l.ended().wait(&r.stop);
        l.unlink();
        l.end();
    }
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
    good = good && (!ids.exists() || ids.is_array());
    for (const json::view id : ids.elements()) {
        good = good && id.is_string();
    }
    for (const char* kind : {"toolsListChanged", "promptsListChanged", "resourcesListChanged"}) {
        good = good && (!wanted[kind].exists() || wanted[kind].is_bool());
    }
    if (!good) {
        return refuse(r, bad_params("notifications is required",
                                    R"({"field":"notifications","reason":"required"})"));
    }
    if (ids.size() > limits::task_ids_per_listen_max) {
        return refuse(r, bad_params("Too many taskIds",
                                    R"({"field":"notifications.taskIds","reason":"too_large"})"));
    }
    if (ids.exists() && r.registered().has_tasks() && !knows_tasks(r)) {
        fault f;
        missing_tasks(f);
        return refuse(r, f);
    }
    fault why;
    if (uris.size() > options_->limit.session.subscriptions_max) {
        limiter_.refuse(limited_by::subscriptions, a_minute_ns, why);
        r.outcome = "rate_limited";
        return refuse(r, why);
    }
    for (const json::view uri : uris.elements()) {
        if (uri.str().size() > limits::target_bytes_max) {
            return refuse(r, bad_params("A URI is too long",
                                        R"({"field":"notifications.resourceSubscriptions",)"
                                        R"("reason":"too_large"})"));
        }
        if (!check_resource_access(r, uri.str(), why)) {
            return refuse(r, why);
        }
    }
    if (!limiter_.handshake(r.payer, options_->limit, why)) {
        r.outcome = "rate_limited";
        return refuse(r, why);
    }
    http::exchange* const ex = r.channel == nullptr ? nullptr : r.channel->hand_over(r);
    if (ex == nullptr) {
        // Pacing leaves them out, so that they need a bound of their own.
        if (pipe_listens_ >= options_->in_flight_per_pipe_max) {
            limiter_.refuse(limited_by::subscriptions, a_minute_ns, why);
            r.outcome = "rate_limited";
            return refuse(r, why);
        }
        return run(r, listen(*this, r));
    }
    listen_stream::open(*ex, r);
    r.replied = true;
    finish(r);
}

}  // namespace pillion::mcp
