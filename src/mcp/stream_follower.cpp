#include "mcp/stream_follower.hpp"

#include "base/limits.hpp"
#include "mcp/http_client.hpp"

namespace pillion::mcp {

stream_follower::stream_follower(engine& e, http::exchange& ex, session_ref s, event_id from)
    : engine_(e), exchange_(ex), session_(std::move(s)), at_(from) {
    std::optional<std::size_t> earlier;
    token_ = session_->events().follow(from.stream, e.shard(), &earlier);
    if (earlier) {
        // He finds himself replaced and ends.
        engine_.wake_follower(*earlier, session_, from.stream);
    }
    // It may be waiting for whoever had the stream before.
    wake_writer();
    session_->hold();
    engine_.changes().add(*this);
    engine_.add_follower(*this);
    exchange_.listen(this);
}

stream_follower::~stream_follower() {
    // Nobody reads: nobody needs to be waited for.
    if (session_->events().leave(at_.stream, token_)) {
        wake_writer();
    }
    session_->release(engine_.now_ms());
    base::list_hook<follower_tag>::unlink();
    base::list_hook<>::unlink();
}

void engine::add_follower(stream_follower& f) noexcept { followers_.push_back(f); }

void engine::wake_follower(std::size_t shard, const session_ref& s, std::uint32_t number) noexcept {
    // Always by mail, also at home: the caller is in the middle of its own work.
    shared_.post_to(shard, [s, number](engine& e) { e.wake_followers_here(s.get(), number); });
}

void engine::wake_followers_here(const session* s, std::uint32_t number) noexcept {
    // One that ends meanwhile unlinks itself: the rest waits in a list of its own.
    base::intrusive_list<stream_follower, follower_tag> told;
    while (stream_follower* f = followers_.pop_front()) {
        told.push_back(*f);
        f->wake(s, number);
    }
    followers_.splice_back(told);
}

void engine::wake_writers(std::size_t shard, const session_ref& s) noexcept {
    shared_.post_to(shard, [s](engine& e) { e.wake_writers_here(s.get()); });
}

void engine::wake_writers_here(const session* s) noexcept {
    for (in_flight_list& list : in_flight_) {
        for (request& r : list) {
            if (r.session.get() == s) {
                r.drained.set();
            }
        }
    }
}

void stream_follower::open(engine& e, http::exchange& ex, session_ref s, event_id from,
                           std::string_view origin, std::int64_t token_ends_s) {
    http::extra_header extra[cors_headers::room];
    ex.begin_sse(extra, cors_headers(origin).put(extra));
    auto* follower = new stream_follower(e, ex, std::move(s), from);
    e.tokens().watch(*follower, token_ends_s);
    follower->pull();
}

void stream_follower::wake(const session* s, std::uint32_t number) noexcept {
    if (s == session_.get() && number == at_.stream) {
        pull();
    }
}

void stream_follower::pull() noexcept {
    event_log& log = session_->events();
    // A later follower has taken over, or the log dropped what was not sent yet: the client asks
    // again and gets an answer to that; it never sees a gap.
    if (!log.is_follower(at_.stream, token_)) {
        return end();
    }
    for (bool more = true; more && !blocked_;) {
        event_log::replay missed;
        if (log.read(at_, missed, engine_.loop().output().low) != event_log::outcome::found) {
            return end();
        }
        for (const kept_event& event : missed.events) {
            base::byte_buffer out(engine_.loop().chunks(), http::exchange::head_gap);
            out.append(event.text);
            at_.sequence = event.sequence;
            char id[event_id::room];
            blocked_ = !exchange_.send_event(std::move(out), {id, at_.write(id)});
        }
        if (missed.finished) {
            return end();
        }
        more = !missed.events.empty();
    }
    if (!blocked_ && log.caught_up(at_.stream, token_)) {
        wake_writer();
    }
}

void stream_follower::wake_writer() noexcept {
    if (const auto writer = session_->events().writer(at_.stream)) {
        engine_.wake_writers(*writer, session_);
    }
}

void stream_follower::on_drained() noexcept {
    blocked_ = false;
    pull();
}

void stream_follower::on_session_end(const session* which) noexcept {
    if (which == session_.get()) {
        end();
    }
}

// A call that is under way is answered also to who came back: its end ends this. What the log
// still has for a slow reader is sent before.
void stream_follower::on_drain() noexcept {
    if (!blocked_ && !session_->events().writer(at_.stream)) {
        end();
    }
}

bool stream_follower::still_let_in() const noexcept { return http_client::still_let_in(exchange_); }

void stream_follower::on_token_end() noexcept {
    log_token_end(exchange_.peer());
    end();
}

void stream_follower::end() noexcept {
    exchange_.listen(nullptr);
    exchange_.end_sse();
    delete this;
}

}  // namespace pillion::mcp
