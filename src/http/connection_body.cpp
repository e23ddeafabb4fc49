// The part of connection that reads bodies and keeps the time.

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "http/connection.hpp"
#include "http/response_writer.hpp"
#include "http/server.hpp"
#include "io/reactor.hpp"

namespace pillion::http {

connection::step connection::begin_body(std::size_t bytes_max) noexcept {
    if (!head_->chunked && head_->content_length == 0) {
        return step::proceed;
    }
    // A chunk counts its bytes in 32 bits.
    constexpr std::size_t chunk_bytes_max = std::size_t{1} << 30;
    bytes_max = std::min(bytes_max, chunk_bytes_max);
    if (head_->chunked) {
        chunks_ = chunk_decoder(bytes_max);
    } else if (head_->content_length > bytes_max) {
        return refuse_request(413, "the body is too large");
    } else {
        body_ = server_.loop().chunks().try_take(head_->content_length + limits::padding);
        if (body_ == nullptr) {
            return refuse_request(503, "no memory for the body");
        }
    }
    phase_ = phase::body;
    // RFC 9110 §10.1.1: not needed when the body came along uninvited.
    if (head_->expect_continue && input_.size() == 0) {
        stream_->write_static(continue_100);
    }
    return read_body();
}

connection::step connection::read_body() noexcept {
    return head_->chunked ? read_chunked() : read_sized();
}

connection::step connection::read_sized() noexcept {
    const std::size_t missing = head_->content_length - body_->size();
    const std::size_t bytes = std::min(missing, input_.size());
    std::memcpy(body_->data() + body_->end, input_.data(), bytes);
    body_->end += static_cast<std::uint32_t>(bytes);
    input_.consume(bytes);
    return bytes == missing ? end_body() : body_incomplete();
}

connection::step connection::read_chunked() noexcept {
    if (input_.size() == 0) {
        return body_incomplete();
    }
    if (!grow_body(input_.size() + limits::padding)) {
        return refuse_and_close(head_, 503, "no memory for the body");
    }
    const chunk_outcome outcome =
        chunks_.feed(input_.data(), input_.size(), body_->data() + body_->end);
    if (outcome.state == parse_state::failed) {
        return refuse_malformed(head_, outcome.status, outcome.reason);
    }
    body_->end += static_cast<std::uint32_t>(outcome.produced);
    input_.consume(outcome.consumed);
    return outcome.state == parse_state::complete ? end_body() : body_incomplete();
}

connection::step connection::end_body() noexcept {
    // Whoever scans the body reads into the padding: zeroes make that a function of the body.
    std::memset(body_->data() + body_->end, 0, limits::padding);
    return step::proceed;
}

connection::step connection::body_incomplete() noexcept {
    if (eof_) {
        ending_ = ending::flush;
        return step::close;
    }
    if (timing_ != timing::body) {
        if (kept_head_ == nullptr) {
            keep_head();
        }
        watch_rate(timing::body, server_.limits().body_timeout_ms);
    } else if (timed_out_ && comes_too_slowly()) {
        return refuse_and_close(head_, 408, "the request body took too long");
    }
    return step::wait;
}

// While a body is waited for, or a decision, other connections read heads.
void connection::keep_head() noexcept {
    static_assert(std::is_trivially_copyable_v<request_head>);
    kept_head_ = server_.loop().chunks().take(sizeof(request_head));
    head_ = ::new (static_cast<void*>(kept_head_->data())) request_head(*head_);
    head_->rebase(input_.retain_head(head_->base(), head_->bytes));
}

void connection::release_head() noexcept {
    head_ = nullptr;
    base::chunk_pool::give(std::exchange(kept_head_, nullptr));
    input_.release_head();
}

bool connection::grow_body(std::size_t more) noexcept {
    if (body_ != nullptr && body_->room() >= more) {
        return true;
    }
    const std::size_t used = body_ == nullptr ? 0 : body_->size();
    // Doubling keeps the copies of a long body linear in its size.
    base::chunk* bigger = server_.loop().chunks().try_take(std::max(used + more, used * 2));
    if (bigger == nullptr) {
        return false;
    }
    if (used > 0) {
        std::memcpy(bigger->data(), body_->data(), used);
    }
    bigger->end = static_cast<std::uint32_t>(used);
    base::chunk_pool::give(body_);
    body_ = bigger;
    return true;
}

void connection::set_deadline(timing what, std::int64_t ms) noexcept {
    set_deadline_at(what, server_.loop().now_ns() + ms * base::ns_per_ms);
}

void connection::set_deadline_at(timing what, std::int64_t due_ns) noexcept {
    timing_ = what;
    timed_out_ = false;
    queued_before_ = stream_->queued_bytes();
    deadline_ns_ = due_ns;
    // Deadlines mostly move away, request after request. The timer is left where it is then, and
    // looks at the deadline again when it fires.
    if (!timer_.armed() || timer_due_ns_ > deadline_ns_) {
        timer_due_ns_ = deadline_ns_;
        server_.loop().timers().arm(timer_, deadline_ns_);
    }
}

// The deadline of a head or a body, and on the way there a look now and then at how it comes.
void connection::watch_rate(timing what, std::int64_t timeout_ms) noexcept {
    const server_limits& most = server_.limits();
    const bool rated = (what == timing::head ? most.head_rate_min : most.body_rate_min) > 0;
    since_ns_ = server_.loop().now_ns();
    // Those who came together are not looked at, and cut, together: others would wait meanwhile.
    const auto apart_ms = static_cast<std::int64_t>(server_.random_.next() % limits::slow_apart_ms);
    const std::int64_t look_ms = limits::slow_grace_ms + apart_ms;
    set_deadline(what, rated ? std::min(look_ms, timeout_ms) : timeout_ms);
}

// A head or a body has been waited for to its deadline. False: that was only a look, and it may go
// on.
bool connection::comes_too_slowly() noexcept {
    const server_limits& most = server_.limits();
    const bool head = timing_ == timing::head;
    const std::int64_t rate = head ? most.head_rate_min : most.body_rate_min;
    const std::int64_t timeout_ms = head ? most.head_timeout_ms : most.body_timeout_ms;
    const std::int64_t so_far_ms = (server_.loop().now_ns() - since_ns_) / base::ns_per_ms;
    const std::size_t got = head ? input_.size() : body_ == nullptr ? 0 : body_->size();
    // What it should have brought since the grace began; the grace itself is a present.
    const std::int64_t due = (so_far_ms - limits::slow_grace_ms + limits::slow_look_ms) * rate;
    if (!server_.draining() && so_far_ms < timeout_ms &&
        static_cast<std::int64_t>(got) >= due / 1000) {
        set_deadline(timing_, std::min(limits::slow_look_ms, timeout_ms - so_far_ms));
        return false;
    }
    server_.counts_.slow_senders += so_far_ms < timeout_ms ? 1U : 0U;
    return true;
}

// An event stream that says nothing at present: has its reader taken what was said?
void connection::look_at_reader() noexcept {
    const std::size_t queued = stream_->queued_bytes();
    const std::int64_t now = server_.loop().now_ns();
    if (queued == 0 || queued < queued_before_) {
        since_ns_ = 0;
    } else if (since_ns_ == 0) {
        since_ns_ = now;
    } else if (now - since_ns_ >= server_.limits().reader_stall_ms * base::ns_per_ms) {
        ++server_.counts_.slow_readers;
        return cut();
    }
    keep_stream_alive();
    set_deadline(timing::stream, server_.limits().sse_keepalive_ms);
}

void connection::clear_deadline() noexcept {
    timing_ = timing::none;
    timed_out_ = false;
}

void connection::on_timer(io::timer&, void* owner) noexcept {
    auto& self = *static_cast<connection*>(owner);
    if (self.timing_ == timing::none) {
        return;
    }
    io::reactor& loop = self.server_.loop();
    if (loop.now_ns() < self.deadline_ns_) {
        self.timer_due_ns_ = self.deadline_ns_;
        loop.timers().arm(self.timer_, self.deadline_ns_);
        return;
    }
    self.deadline_passed();
}

void connection::deadline_passed() noexcept {
    const std::size_t queued = stream_->queued_bytes();
    switch (timing_) {
        case timing::stream:
            return look_at_reader();
        case timing::flush:
        case timing::idle:
            if (queued > 0) {
                // The last answer is still on its way. A slow reader may go on, one that took
                // nothing all that time is gone.
                if (queued < queued_before_) {
                    set_deadline(timing_, timing_ == timing::idle
                                              ? server_.limits().idle_timeout_ms
                                              : server_.limits().head_timeout_ms);
                } else {
                    cut();
                }
                return;
            }
            break;
        case timing::none:
        case timing::quiet:
        case timing::head:
        case timing::body:
        case timing::discard:
            break;
    }
    timed_out_ = true;
    wake();
}

}  // namespace pillion::http
