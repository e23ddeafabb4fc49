#include "http/connection.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/fetch.hpp"
#include "base/limits.hpp"
#include "http/request_parser.hpp"
#include "http/server.hpp"
#include "io/reactor.hpp"

namespace pillion::http {

// With its stream, its client in the layer above and its coroutine an idle connection stays below
// 1 KiB. A block of the heap is a multiple of 16, of which 8 are the heap's.
static_assert(sizeof(connection) <= 376);

connection::connection(server& owner, std::unique_ptr<io::stream> stream) noexcept
    : server_(owner), stream_(std::move(stream)), input_(owner.loop().chunks()) {}

connection::~connection() {
    PILLION_ASSERT(!open_ && resume_.next == nullptr);
    base::chunk_pool::give(body_);
    base::chunk_pool::give(kept_head_);
    base::chunk_pool::give(long_id_);
    if (free_tag_ != nullptr) {
        free_tag_(tag_);
    }
}

void connection::start(std::uint16_t refusal) noexcept {
    refusal_ = refusal;
    came_late_ = server_.draining();
    stream_->start(*this);
    serve(server_.tasks_);
}

coro::spawned connection::serve(coro::scope&) {
    step then = refusal_ != 0 ? reject() : step::next_request;
    while (then != step::close) {
        then = advance();
        while (then == step::wait) {
            co_await event();
            then = advance();
        }
        if (then == step::proceed) {
            run_handler();
            while (exchange_pending()) {
                co_await event();
            }
            then = end_exchange();
        }
    }
    begin_close();
    while (discarding()) {
        co_await event();
    }
    close_stream();
    co_await closed();
    server_.remove(*this);
}

void connection::suspended(std::coroutine_handle<> self, bool final) noexcept {
    waiting_ = self;
    input_.settle();
    if (final) {
        phase_ = phase::closing;
        if (closed_) {
            wake();
        }
    } else if (paused_ && phase_ != phase::exchange && !held_back_ && !undecided_) {
        paused_ = false;
        // Last, since data that waits may resume the coroutine from inside this call.
        stream_->resume_reading();
    }
}

void connection::wake() noexcept {
    const bool deaf = phase_ == phase::closing && !closed_;
    if (waiting_ && !deaf && resume_.next == nullptr) {
        resume_.schedule(waiting_);
    }
}

void connection::admit_again() noexcept {
    if (undecided_) {
        ask_again_ = true;
        wake();
    }
}

void connection::drain() noexcept {
    if (phase_ == phase::head) {
        // A head that has begun gets a moment more; it must not hold up the shutdown.
        if (timing_ == timing::head) {
            set_deadline(timing::head, limits::drain_head_ms);
        }
        wake();
    }
}

void connection::cut() noexcept {
    ending_ = ending::cut;
    stream_->close(false);
}

void connection::on_data(char* data, std::size_t bytes) noexcept {
    if (closed_ || phase_ == phase::closing) {
        return;
    }
    server_.counts_.bytes_in += bytes;
    if (phase_ == phase::discard) {
        discarded_ += static_cast<std::uint32_t>(bytes);
        if (!discarding()) {
            wake();
        }
        return;
    }
    const bool later = phase_ == phase::exchange || held_back_ || undecided_;
    if (waiting_ && !later && resume_.next == nullptr) {
        if (tag_ != nullptr) {
            constexpr std::size_t tag_bytes = 168;  // an mcp::http_client
            base::fetch(tag_, tag_bytes);           // for admit(), behind the head
        }
        input_.lend(data, bytes);
        waiting_.resume();
        return;
    }
    input_.keep(data, bytes);
    if (later && !paused_ && input_.size() >= limits::pipelined_bytes_max) {
        paused_ = true;
        stream_->pause_reading();
    }
}

void connection::on_eof() noexcept {
    eof_ = true;
    wake();
}

void connection::on_drained() noexcept {
    if (held_back_) {
        wake();
    } else if (open_ && listener_ != nullptr) {
        listener_->on_drained();
    }
}

void connection::on_closed(int) noexcept {
    closed_ = true;
    wake();
}

connection::step connection::reject() noexcept {
    choose_request_id({});
    return refuse_and_close(nullptr, refusal_,
                            refusal_ == 403 ? "this user may not connect" : "too many connections");
}

connection::step connection::advance() noexcept {
    if (closed_ || ending_ == ending::cut) {
        ending_ = ending::cut;
        return step::close;
    }
    if (phase_ == phase::body) {
        return read_body();
    }
    if (undecided_) {
        return ask_again_ ? decide() : step::wait;
    }
    const bool ends = server_.draining() || eof_;
    held_back_ = stream_->congested() && !(ends && input_.size() == 0);
    return held_back_ ? answers_unread() : read_head();
}

// Who sends request after request and does not read would have its answers pile up here.
connection::step connection::answers_unread() noexcept {
    if (timing_ != timing::idle) {
        set_deadline(timing::idle, server_.limits().idle_timeout_ms);
    }
    return step::wait;
}

connection::step connection::read_head() noexcept {
    if (input_.size() == 0) {
        return head_incomplete();
    }
    head_ = server_.memo_.find(input_.data(), input_.size());
    if (head_ == nullptr) {
        const parse_outcome outcome = parse_request_head(
            input_.data(), input_.size(), head_scanned_, server_.head_, server_.limits().head);
        if (outcome.state == parse_state::need_more) {
            head_scanned_ = static_cast<std::uint32_t>(input_.size());
            return head_incomplete();
        }
        if (outcome.state == parse_state::failed) {
            choose_request_id({});
            return refuse_malformed(nullptr, outcome.status, outcome.reason);
        }
        head_ = server_.memo_.add(server_.head_);
        head_ = head_ != nullptr ? head_ : &server_.head_;
    }
    head_scanned_ = 0;
    input_.consume(head_->bytes);
    learn_request();
    return decide();
}

connection::step connection::decide() noexcept {
    ask_again_ = false;
    const admission verdict = server_.handler().admit(exchange_);
    if (verdict.wait) {
        if (!undecided_) {
            undecided_ = true;
            keep_head();
            clear_deadline();
        }
        return step::wait;
    }
    undecided_ = false;
    if (verdict.refuse_status != 0) {
        return refuse_request(verdict.refuse_status, "");
    }
    return begin_body(verdict.body_bytes_max);
}

connection::step connection::head_incomplete() noexcept {
    // Line ends behind a request are not the begin of the next one (RFC 9112 §2.2).
    const std::string_view unread(input_.data(), input_.size());
    const bool begun = !std::string_view("\r\n").starts_with(unread);
    if (eof_) {
        ending_ = ending::flush;
        return step::close;
    }
    if (!begun && timed_out_ && timing_ == timing::idle) {
        return end_idle();
    }
    if (!begun && server_.draining()) {
        return quiet_in_drain();
    }
    if (timed_out_ && timing_ == timing::head) {
        if (!comes_too_slowly()) {
            return step::wait;
        }
        choose_request_id({});
        return refuse_and_close(nullptr, 408, "the request head took too long");
    }
    // The head has its time from its first byte on, however many packets it comes in.
    const timing wanted = begun ? timing::head : timing::idle;
    if (timing_ != wanted) {
        if (begun) {
            watch_rate(wanted, server_.draining() ? limits::drain_head_ms
                                                  : server_.limits().head_timeout_ms);
        } else {
            set_deadline(wanted, server_.limits().idle_timeout_ms);
        }
    }
    return step::wait;
}

// Nobody has asked for anything for long. A thread that was held up looks at its timers before it
// has received everything: what has come meanwhile is a request.
connection::step connection::end_idle() noexcept {
    if (ends_quietly()) {
        return step::close;
    }
    set_deadline(timing::idle, server_.limits().idle_timeout_ms);
    return step::wait;
}

// Closes unless the system holds bytes of the peer; after the output, if its last answer has not
// been read yet.
bool connection::ends_quietly() noexcept {
    const bool unread = stream_->queued_bytes() > 0;
    if (!unread && !stream_->close_if_quiet()) {
        return false;
    }
    ending_ = unread ? ending::flush : ending::cut;
    return true;
}

// Between two requests, and the server drains. A request that was sent before the peer could know
// of it must not meet a closed connection: the end comes when the peer has been quiet for a while
// and nothing of it waits in the system. That while is counted by the clock: the time of a turn in
// which this thread was held up is before what the peer was told in it.
connection::step connection::quiet_in_drain() noexcept {
    const std::int64_t now_ns = server_.loop().clock_ns();
    if (timing_ == timing::quiet && !timed_out_) {
        return step::wait;
    }
    if (timing_ == timing::quiet && ends_quietly()) {
        return step::close;
    }
    const std::int64_t idle_since_ns =
        timing_ == timing::idle ? deadline_ns_ - server_.limits().idle_timeout_ms * base::ns_per_ms
                                : now_ns;
    const bool idle = now_ns - idle_since_ns >= limits::drain_idle_ms * base::ns_per_ms;
    const std::int64_t quiet_ms = came_late_ ? limits::drain_late_quiet_ms : limits::drain_quiet_ms;
    set_deadline_at(timing::quiet, now_ns + (idle ? 0 : quiet_ms * base::ns_per_ms));
    return step::wait;
}

void connection::run_handler() noexcept {
    phase_ = phase::exchange;
    open_ = true;
    clear_deadline();
    server_.handler().handle(exchange_);
    release_head();
}

bool connection::exchange_pending() noexcept {
    if (open_ && eof_ && !eof_told_ && !closed_ && listener_ != nullptr) {
        eof_told_ = true;
        listener_->on_peer_eof();
    }
    if (open_ && closed_) {
        open_ = false;
        if (listener_ != nullptr) {
            std::exchange(listener_, nullptr)->on_gone();
        }
    }
    return open_;
}

connection::step connection::end_exchange() noexcept {
    forget_request();
    if (closed_ || ending_ == ending::cut) {
        ending_ = ending::cut;
        return step::close;
    }
    if (close_) {
        // A peer that did not ask for it, or sends on nevertheless, may have bytes under way; a
        // close would then reset the connection and destroy the answer (RFC 9112 §9.6).
        ending_ = client_closes_ && input_.size() == 0 ? ending::flush : ending::linger;
        return step::close;
    }
    return step::next_request;
}

void connection::begin_close() noexcept {
    forget_request();
    input_.clear();
    if (ending_ == ending::linger && !closed_ && !eof_) {
        phase_ = phase::discard;
        stream_->shutdown_write();
        set_deadline(timing::discard, limits::linger_ms);
    }
}

bool connection::discarding() const noexcept {
    return phase_ == phase::discard && !closed_ && !eof_ && !timed_out_ && ending_ != ending::cut &&
           discarded_ <= limits::linger_bytes_max;
}

void connection::close_stream() noexcept {
    if (closed_) {
        return;
    }
    const bool flush = ending_ != ending::cut && !timed_out_;
    if (flush) {
        set_deadline(timing::flush, server_.limits().head_timeout_ms);
    }
    stream_->close(flush);
}

}  // namespace pillion::http
