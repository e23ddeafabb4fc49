#include "mcp/batch.hpp"

#include <utility>

#include "rpc/envelope.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

batch::batch(engine& e, request& holder, bool paid) noexcept
    : engine_(e), holder_(holder), gathered_(holder.new_message()), paid_(paid) {
    ++holder_.children;
}

batch::~batch() = default;

void batch::run(json::view messages, const session_ref& s) {
    for (const json::view message : messages.elements()) {
        run_member(message, s);
    }
    member_ended();
}

void batch::run_member(json::view message, const session_ref& s) {
    const rpc::envelope e = rpc::classify(message);
    const bool handshake = e.method == "initialize";
    if (e.kind == rpc::message_kind::notification) {
        return take_notification(engine_, e.method, e.params, s);
    }
    if (e.kind == rpc::message_kind::response) {
        return engine_.take_response(s, message);
    }
    request& r = engine_.make();
    r.parent = &holder_;
    ++holder_.children;
    ++pending_;
    r.request_id = holder_.request_id;
    r.asked_timeout_ms = holder_.asked_timeout_ms;
    r.rev = s->negotiated();
    r.session = s;
    r.id = e.id;
    r.method = e.method;
    r.set_params(e.params);
    r.channel = this;
    if (e.kind == rpc::message_kind::invalid || handshake) {
        fault f;
        f.code = handshake ? rpc::invalid_request : e.code;
        f.message = handshake ? safe_text("initialize may not be part of a batch")
                              : safe_text::of_constant(e.fault);
        return engine_.refuse(r, f);
    }
    r.payer = holder_.payer;
    r.principal = holder_.principal;
    fault f;
    if (!std::exchange(paid_, false) &&
        !engine_.limits().request(r.payer, engine_.options().limit, f)) {
        r.outcome = "rate_limited";
        return engine_.refuse(r, f);
    }
    engine_.serve(r);
}

void batch::gather(std::string_view message) noexcept {
    gathered_.append(gathered_.empty() ? '[' : ',');
    gathered_.append(message);
}

base::byte_buffer batch::take_gathered() noexcept {
    if (!gathered_.empty()) {
        gathered_.append(']');
    }
    base::byte_buffer all(std::move(gathered_));
    gathered_ = holder_.new_message();
    return all;
}

bool batch::notify(request& /*r*/, base::byte_buffer message) noexcept {
    if (abandoned_) {
        return true;
    }
    if (!emitting_) {
        emitting_ = true;
        base::byte_buffer so_far = take_gathered();
        if (!so_far.empty()) {
            emit(std::move(so_far));
        }
    }
    return emit(std::move(message));
}

void batch::reply(request& /*r*/, base::byte_buffer message,
                  std::uint16_t /*http_status*/) noexcept {
    if (!abandoned_) {
        if (emitting_) {
            emit(std::move(message));
        } else {
            gather(message.view());
        }
    }
    member_ended();
}

void batch::drop(request& /*r*/) noexcept { member_ended(); }

void batch::member_ended() noexcept {
    if (--pending_ > 0) {
        return;
    }
    // The array is made before the holder goes, whose pool its memory comes from (the shard's).
    base::byte_buffer all = take_gathered();
    request& holder = holder_;
    engine& e = engine_;
    done(std::move(all));
    --holder.children;
    holder.replied = true;
    e.finish(holder);
}

void take_notification(engine& e, std::string_view method, json::view params,
                       const session_ref& s) {
    if (method == "notifications/cancelled") {
        const json::view id = params["requestId"];
        if (id.is_string() || id.is_integer()) {
            e.cancel(s, id);
        }
    }
}

}  // namespace pillion::mcp
