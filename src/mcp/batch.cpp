#include "mcp/batch.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "mcp/result_errors.hpp"
#include "rpc/envelope.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

batch::batch(engine& e, request& holder, bool paid, bool paced) noexcept
    : engine_(e), holder_(holder), gathered_(holder.new_message()), paid_(paid), paced_(paced) {
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

// False when there is no room for it: all of them may have `most` bytes.
bool batch::gather(std::string_view message, std::size_t most) noexcept {
    const std::size_t bytes = message.size() + 2;  // with what stands around it
    // Doubling keeps the copies linear; where that much is not there, what is needed may be.
    if (gathered_.size() + bytes > most ||
        !(gathered_.try_reserve(std::max(bytes, gathered_.size())) ||
          gathered_.try_reserve(bytes))) {
        return false;
    }
    gathered_.append(gathered_.empty() ? '[' : ',');
    gathered_.append(message);
    return true;
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
            send(std::move(so_far));
        }
    }
    if (blocked_) {
        static_cast<void>(gather(message.view(), engine_.options().request_memory_bytes_max));
        return false;
    }
    return send(std::move(message));
}

bool batch::send(base::byte_buffer message) noexcept {
    const bool read = emit(std::move(message));
    blocked_ = paced_ && !read;
    return read;
}

void batch::reply(request& r, base::byte_buffer message, std::uint16_t /*http_status*/) noexcept {
    if (!abandoned_) {
        if (emitting_ && !blocked_) {
            send(std::move(message));
        } else if (!gather(message.view(), engine_.options().request_memory_bytes_max)) {
            // Errors are small, and as many as there are members.
            static_cast<void>(gather(too_large_reply(r).view(), SIZE_MAX));
        }
    }
    member_ended();
}

void batch::drop(request& /*r*/) noexcept { member_ended(); }

void batch::unblocked() noexcept {
    if (!blocked_) {
        return;
    }
    blocked_ = false;
    base::byte_buffer so_far = take_gathered();
    if (!so_far.empty()) {
        send(std::move(so_far));
    }
    if (pending_ == 0 && !blocked_) {
        finish();
    }
}

void batch::abandon() noexcept {
    abandoned_ = true;
    blocked_ = false;
    gathered_ = holder_.new_message();  // the old one's memory goes
    if (pending_ == 0) {
        finish();
    }
}

void batch::member_ended() noexcept {
    // The last answer waits for room like all others.
    if (--pending_ == 0 && !blocked_) {
        finish();
    }
}

void batch::finish() noexcept {
    // The array is made before the holder goes, whose pool its memory comes from (the shard's).
    base::byte_buffer all = take_gathered();
    request& holder = holder_;
    engine& e = engine_;
    done(std::move(all));
    --holder.children;
    holder.replied = true;
    e.finish(holder);
}

safe_text objection_to(json::view messages, const session_ref& s, std::size_t most) noexcept {
    if (s == nullptr || !has_batches(s->negotiated())) {
        return "Batches are not part of this protocol revision";
    }
    if (messages.size() == 0) {
        return "A batch may not be empty";
    }
    return messages.size() > most ? safe_text("Too many messages in one batch") : safe_text();
}

void take_notification(engine& e, std::string_view method, json::view params,
                       const session_ref& s) {
    if (method == "notifications/cancelled") {
        const json::view id = params["requestId"];
        if (id.is_string() || id.is_integer()) {
            e.cancel(s, id);
        }
    } else if (method == "notifications/roots/list_changed" && s != nullptr) {
        s->note_roots_change();
    }
}

}  // namespace pillion::mcp
