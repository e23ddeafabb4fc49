#include "mcp/message_pipe.hpp"

#include <charconv>
#include <cstring>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "http/exchange.hpp"
#include "json/parser.hpp"
#include "mcp/legacy_stream.hpp"
#include "mcp/modern_checks.hpp"
#include "mcp/task_replies.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

class pipe_batch final : public batch {
 public:
    pipe_batch(engine& e, request& holder, message_pipe& pipe, bool paid)
        : batch(e, holder, paid, false), pipe_(pipe) {
        pipe_.batch_began();
    }

 private:
    ~pipe_batch() override = default;
    bool emit(base::byte_buffer message) noexcept override {
        return pipe_.send(std::move(message));
    }
    void done(base::byte_buffer all) noexcept override {
        // Nothing to return: nothing is written (REVISIONS §1).
        if (!all.empty()) {
            pipe_.send(std::move(all));
        }
        message_pipe& pipe = pipe_;
        delete this;
        pipe.one_ended();
    }

    message_pipe& pipe_;
};

}  // namespace

message_pipe::message_pipe(engine& e, std::string_view prefix, bool serves_modern,
                           const caller& from, bool paid)
    : paced_listener(e),
      prefix_(prefix),
      serves_modern_(serves_modern),
      name_(from.name),
      from_(from),
      paid_(paid) {
    from_.name = name_;  // the connection may be gone before the last call ends
    take_rights({std::string(from.scopes), from.limited});
    engine_.changes().add(*this);
}

message_pipe::~message_pipe() {
    unlink();
    if (session_ != nullptr) {
        engine_.shared().end_subscriptions(*session_);
    }
}

void message_pipe::take_rights(const granted& rights) {
    scopes_ = rights.scopes;
    from_.scopes = scopes_;
    from_.limited = rights.limited;
}

void message_pipe::one_ended() noexcept {
    PILLION_ASSERT(open_ > 0);
    --open_;
    on_one_ended();
}

bool message_pipe::notify(request& /*r*/, base::byte_buffer message) noexcept {
    return send(std::move(message));
}

void message_pipe::reply(request& r, base::byte_buffer message,
                         std::uint16_t /*http_status*/) noexcept {
    if (r.mid == method_id::initialize && r.session != nullptr) {
        session_ = r.session;
    }
    send(std::move(message));
    one_ended();
}

void message_pipe::drop(request& /*r*/) noexcept { one_ended(); }

void message_pipe::send_error(int code, safe_text message, json::view id) {
    base::byte_buffer out(engine_.loop().chunks(), http::exchange::head_gap);
    // Revisions before 2025-11-25 want an id, if only null (AMBIGUITIES G10).
    const bool null_id = session_ != nullptr && !error_id_optional(session_->negotiated());
    fault why;
    why.code = code;
    why.message = message;
    write_error(out, why, {request_id_, request_id_bytes_}, id, null_id);
    send(std::move(out));
}

void message_pipe::count_message() noexcept {
    constexpr std::size_t number_bytes_max = 20;
    char* const number =
        request_id_ + prefix_.copy(request_id_, sizeof request_id_ - number_bytes_max);
    const auto end = std::to_chars(number, request_id_ + sizeof request_id_, ++messages_);
    request_id_bytes_ = static_cast<std::uint8_t>(end.ptr - request_id_);
}

void message_pipe::take_message(std::string_view text) {
    request& r = engine_.make();
    r.charge(from_);
    count_message();
    r.request_id = r.memory.dup({request_id_, request_id_bytes_});
    base::chunk* input = engine_.loop().chunks().try_take(text.size() + limits::padding);
    if (input == nullptr) {
        engine_.discard(r);
        return send_error(rpc::unavailable, "Out of memory");
    }
    std::memcpy(input->data(), text.data(), text.size());
    input->end = static_cast<std::uint32_t>(text.size());
    r.memory.adopt(input);
    const json::parse_result parsed = json::parse(input->data(), text.size(), r.memory,
                                                  engine_.options().limit.json, &engine_.metas());
    if (!parsed.ok) {
        engine_.discard(r);
        return send_error(rpc::parse_error, "Parse error");
    }
    if (parsed.root.is_array()) {
        return take_batch(r, parsed.root);
    }
    take_request(r, rpc::classify(parsed.root), parsed.root);
}

void message_pipe::take_batch(request& r, json::view root) {
    const safe_text why = objection_to(root, session_, engine_.options().batch_messages_max);
    if (!why.empty()) {
        engine_.discard(r);
        return send_error(rpc::invalid_request, why);
    }
    auto* all = new pipe_batch(engine_, r, *this, paid_);
    all->run(root, session_);
}

// Why a request may not run now; empty when it may.
safe_text message_pipe::objection(const request& r, const rpc::envelope& e, bool modern_era) const {
    if ((serves_modern_ && engine_.running(nullptr, r.id)) ||
        (session_ != nullptr && engine_.running(session_.get(), r.id))) {
        return "A request with this id is still running";
    }
    if (modern_era) {
        return serves_modern_ ? safe_text()
                              : safe_text("This transport ends with protocol revision 2025-11-25");
    }
    const bool handshake = e.method == "initialize";
    if (handshake && session_ != nullptr) {
        return "The session is initialized already";
    }
    if (!handshake && session_ == nullptr && e.method != "ping") {
        return "Server not initialized";
    }
    return {};
}

void message_pipe::take_request(request& r, const rpc::envelope& e, json::view root) {
    if (e.kind == rpc::message_kind::invalid) {
        send_error(e.code, safe_text::of_constant(e.fault), e.id);
        return engine_.discard(r);
    }
    if (e.kind == rpc::message_kind::notification) {
        // On a pipe cancellation is the same notification in both eras.
        if (e.method == "notifications/cancelled" && serves_modern_) {
            take_notification(engine_, e.method, e.params, nullptr);
        }
        if (session_ != nullptr) {
            take_notification(engine_, e.method, e.params, session_);
        }
        return engine_.discard(r);
    }
    if (e.kind == rpc::message_kind::response) {
        engine_.take_response(session_, root);
        return engine_.discard(r);
    }
    r.set_params(e.params);
    const bool modern_era = r.meta.modern();
    ++open_;
    r.id = e.id;
    r.method = e.method;
    r.rev = modern_era ? modern : session_ != nullptr ? session_->negotiated() : latest_legacy;
    fault why;
    why.code = rpc::invalid_request;
    why.message = objection(r, e, modern_era);
    if (!modern_era && e.method != "initialize") {
        r.session = session_;
    }
    r.channel = this;
    if (!why.message.empty()) {
        return engine_.refuse(r, why);
    }
    if (!paid_ && !engine_.limits().request(from_, engine_.options().limit, why)) {
        r.outcome = "rate_limited";
        return engine_.refuse(r, why);
    }
    engine_.serve(r);
}

bool message_pipe::tell(const change_event& event) noexcept {
    if (session_ == nullptr ||
        (event.what == change::resource_updated && !session_->subscribed(event.uri))) {
        return true;
    }
    base::byte_buffer out(engine_.loop().chunks(), http::exchange::event_gap);
    write_change(out, event);
    return send(std::move(out));
}

// Nobody may rely on these: a client that reads slowly is spared them.
void message_pipe::on_task_status(const task_record& now) noexcept {
    if (session_ != nullptr && now.session == session_->id() && !behind()) {
        base::byte_buffer out(engine_.loop().chunks(), http::exchange::event_gap);
        write_task_status(out, now);
        if (!send(std::move(out))) {
            fall_behind();
        }
    }
}

}  // namespace pillion::mcp
