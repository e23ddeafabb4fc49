#include "mcp/call_stream.hpp"

#include "mcp/http_client.hpp"

namespace pillion::mcp {

namespace {

// How long a client is asked to wait before it reconnects.
constexpr std::int64_t retry_ms = 1000;

}  // namespace

call_stream::call_stream(engine& e, http::exchange& ex, request& r)
    : engine_(e),
      exchange_(&ex),
      live_(&r),
      session_(r.session),
      number_(session_->events().open(false, e.now_ms(), e.shard())) {
    r.channel = this;
    ex.listen(this);
}

call_stream& call_stream::open(engine& e, http::exchange& ex, request& r, std::string_view origin) {
    http::extra_header extra[cors_headers::room];
    ex.begin_sse(extra, cors_headers(origin).put(extra));
    auto* stream = new call_stream(e, ex, r);
    if (can_poll(r.rev)) {
        char id[event_id::room];
        const event_id beginning{stream->number_, 0};
        ex.send_event(base::byte_buffer(e.loop().chunks(), http::exchange::head_gap),
                      {id, beginning.write(id)}, retry_ms);
    }
    return *stream;
}

// Keeps and sends one message.
bool call_stream::send(base::byte_buffer message) noexcept {
    event_log& log = session_->events();
    last_ = log.append(number_, message.view(), engine_.now_ms());
    const event_id kept{number_, last_};
    const auto follower = log.follower(number_);
    if (follower) {
        // The client has come back on another connection; this one, if it still stands, is done.
        if (exchange_ != nullptr) {
            http::exchange& ex = *exchange_;
            exchange_ = nullptr;
            ex.listen(nullptr);
            ex.end_sse();
            on_gone();
        }
        engine_.wake_follower(*follower, session_, number_);
        return !log.is_behind(number_);
    }
    if (exchange_ == nullptr) {
        return true;
    }
    char id[event_id::room];
    return exchange_->send_event(std::move(message), {id, kept.write(id)});
}

bool call_stream::is_heard() const noexcept {
    return (exchange_ != nullptr && !eof_) || session_->events().is_followed(number_);
}

bool call_stream::notify(request& /*r*/, base::byte_buffer message) noexcept {
    return send(std::move(message));
}

void call_stream::reply(request& /*r*/, base::byte_buffer message,
                        std::uint16_t /*http_status*/) noexcept {
    live_ = nullptr;
    send(std::move(message));
    end();
}

void call_stream::drop(request& /*r*/) noexcept {
    live_ = nullptr;
    end();
}

// The call is over: so is the stream.
void call_stream::end() noexcept {
    session_->events().finish(number_);
    if (const auto follower = session_->events().follower(number_)) {
        engine_.wake_follower(*follower, session_, number_);
    }
    if (exchange_ != nullptr) {
        http::exchange& ex = *exchange_;
        ex.listen(nullptr);
        ex.end_sse();
    }
    delete this;
}

bool call_stream::release(request& /*r*/, std::int64_t pause_ms) noexcept {
    if (!can_poll(session_->negotiated()) || exchange_ == nullptr) {
        return false;
    }
    char id[event_id::room];
    const event_id so_far{number_, last_};
    if (pause_ms >= 0) {
        // The last word on this connection is how long to stay away.
        exchange_->send_event(base::byte_buffer(engine_.loop().chunks(), http::exchange::head_gap),
                              {id, so_far.write(id)}, pause_ms);
    }
    http::exchange& ex = *exchange_;
    exchange_ = nullptr;
    ex.listen(nullptr);
    ex.end_sse();
    return true;
}

void call_stream::on_drained() noexcept {
    if (live_ != nullptr) {
        live_->drained.set();
    }
}

void call_stream::on_gone() noexcept {
    exchange_ = nullptr;
    // Nobody reads: nobody needs to be waited for.
    if (live_ != nullptr) {
        live_->drained.set();
    }
}

}  // namespace pillion::mcp
