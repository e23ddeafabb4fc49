#include "mcp/legacy_stream.hpp"

#include "base/limits.hpp"
#include "base/log.hpp"
#include "json/writer.hpp"
#include "mcp/http_client.hpp"
#include "mcp/task_replies.hpp"

namespace pillion::mcp {

void write_change(base::byte_buffer& out, const change_event& event) {
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","method":)");
    w.string(notification_of(event.what));
    if (event.what == change::resource_updated) {
        w.fragment(R"(,"params":{"uri":)");
        w.string_lossy(event.uri);
        w.fragment("}");
    }
    w.fragment("}");
}

legacy_stream::legacy_stream(engine& e, http::exchange& ex, session_ref s, const event_id* resume)
    : engine_(e),
      exchange_(&ex),
      session_(std::move(s)),
      number_(session_->open_stream(e.shared().published())),
      log_(resume != nullptr ? resume->stream : session_->events().open(true, e.now_ms())) {
    if (resume != nullptr) {
        session_->events().reopen(log_);
    }
    session_->hold();
    engine_.changes().add(*this);
    ex.listen(this);
}

legacy_stream::~legacy_stream() {
    // What nobody writes any more makes room for others when its time comes.
    session_->events().finish(log_, engine_.now_ms());
    if (session_->close_stream(number_)) {
        promote_other();
    }
    if (exchange_ != nullptr) {
        session_->release(engine_.now_ms());
    }
    unlink();
}

void legacy_stream::open(engine& e, http::exchange& ex, session_ref s, std::string_view origin,
                         std::int64_t token_ends_s, const event_id* resume) {
    http::extra_header extra[cors_headers::room];
    ex.begin_sse(extra, cors_headers(origin).put(extra));
    if (e.draining()) {
        return ex.end_sse();
    }
    if (s->take_collecting()) {
        e.shared().broadcast([s](engine& on) { on.changes().stream_replaced(s.get()); });
    }
    auto* stream = new legacy_stream(e, ex, std::move(s), resume);
    e.tokens().watch(*stream, token_ends_s);
    if (resume != nullptr) {
        stream->replay(*resume);
    } else {
        stream->prime();
    }
    stream->catch_up();
}

// Changes whose turn this stream missed, because the one before it was the newest when they came
// here, and gone when they came there, or because its client read slowly.
void legacy_stream::catch_up() noexcept {
    const std::uint64_t heard = engine_.changes().heard();
    for (const auto& c : engine_.shared().changes().since(session_->told())) {
        // What this shard has not heard of yet comes by itself.
        if (c.number > heard || behind_since_ms_ >= 0 || !is_told_here()) {
            return;
        }
        tell({c.what, c.uri, c.number});
    }
}

void legacy_stream::promote_other() noexcept {
    engine_.shared().broadcast(
        [s = session_](engine& on) { on.changes().stream_promoted(s.get()); });
}

void legacy_stream::on_stream_promoted(const session* of) noexcept {
    if (of == session_.get() && session_->is_newest_stream(number_)) {
        catch_up();
    }
}

// An id to come back with, before anything has happened (REVISIONS §5.5).
void legacy_stream::prime() noexcept {
    if (can_poll(session_->negotiated())) {
        char id[event_id::room];
        const event_id beginning{log_, 0};
        exchange_->send_event(base::byte_buffer(engine_.loop().chunks(), http::exchange::head_gap),
                              {id, beginning.write(id)});
    }
}

void legacy_stream::replay(event_id after) noexcept {
    event_log::replay missed;
    session_->events().read(after, missed);
    for (const kept_event& event : missed.events) {
        base::byte_buffer out(engine_.loop().chunks(), http::exchange::head_gap);
        out.append(event.text);
        const event_id at{log_, event.sequence};
        char id[event_id::room];
        exchange_->send_event(std::move(out), {id, at.write(id)});
    }
}

// One message goes to one stream: the newest of the session (REVISIONS §5.5).
bool legacy_stream::is_told_here() const noexcept {
    return session_->is_newest_stream(number_) && session_->alive();
}

void legacy_stream::on_change(const change_event& event) noexcept {
    if (!is_told_here()) {
        if (exchange_ == nullptr) {
            delete this;
        }
        return;
    }
    if (behind_since_ms_ < 0) {
        return tell(event);
    }
    if (engine_.now_ms() - behind_since_ms_ >= limits::listener_behind_ms) {
        cut();
    }
}

// What is not told while output waits is not claimed either: it is found on the board later, by
// this stream or by the one that takes over.
void legacy_stream::tell(const change_event& event) noexcept {
    // Also what the session does not want to hear: it has been dealt with.
    if (!session_->claim(event.number) ||
        (event.what == change::resource_updated && !session_->subscribed(event.uri))) {
        return;
    }
    base::byte_buffer out(engine_.loop().chunks(), http::exchange::event_gap);
    write_change(out, event);
    tell(std::move(out));
}

// Keeps and sends one message.
void legacy_stream::tell(base::byte_buffer message) noexcept {
    const event_id at{log_, session_->events().append(log_, message.view(), engine_.now_ms())};
    if (exchange_ != nullptr) {
        char id[event_id::room];
        if (!exchange_->send_event(std::move(message), {id, at.write(id)})) {
            behind_since_ms_ = engine_.now_ms();
        }
    }
}

// Nobody may rely on these: a client that reads slowly is spared them.
void legacy_stream::on_task_status(const task_record& now) noexcept {
    if (now.session == session_->id() && is_told_here() && behind_since_ms_ < 0) {
        base::byte_buffer out(engine_.loop().chunks(), http::exchange::event_gap);
        write_task_status(out, now);
        tell(std::move(out));
    }
}

void legacy_stream::on_drained() noexcept {
    behind_since_ms_ = -1;
    catch_up();
}

// The client may come back for what it has not read.
void legacy_stream::cut() noexcept {
    log::info("mcp.listener_cut", {log::kv("peer", exchange_->peer())});
    exchange_->listen(nullptr);
    exchange_->abort();
    on_gone();
}

void legacy_stream::on_session_end(const session* which) noexcept {
    if (which == session_.get()) {
        end();
    }
}

bool legacy_stream::still_let_in() const noexcept {
    return exchange_ == nullptr || http_client::still_let_in(*exchange_);
}

// What happens until the client is back is kept for it.
void legacy_stream::on_token_end() noexcept {
    if (exchange_ != nullptr) {
        log_token_end(exchange_->peer());
        on_peer_eof();
    }
}

void legacy_stream::on_peer_eof() noexcept {
    http::exchange& ex = *exchange_;
    ex.listen(nullptr);
    ex.end_sse();
    on_gone();
}

void legacy_stream::on_gone() noexcept {
    exchange_ = nullptr;
    behind_since_ms_ = -1;
    // From here on the client's absence counts as idle time: the session may expire.
    session_->release(engine_.now_ms());
    const bool collects = session_->detach_stream(number_);
    if (!collects) {
        promote_other();
    }
    if (!collects || !session_->alive() || engine_.draining()) {
        delete this;
    } else {
        catch_up();
    }
}

void legacy_stream::on_stream_replaced(const session* of) noexcept {
    if (of == session_.get() && exchange_ == nullptr) {
        delete this;
    }
}

void legacy_stream::end() noexcept {
    if (exchange_ != nullptr) {
        exchange_->listen(nullptr);
        exchange_->end_sse();
        exchange_ = nullptr;
        session_->release(engine_.now_ms());
    }
    delete this;
}

}  // namespace pillion::mcp
