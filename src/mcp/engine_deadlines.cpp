// Deadlines of requests (methods of mcp/engine.hpp): when a call must have been answered, what
// moves that, and what becomes of handlers that go on afterwards.
//
// One timer of the request serves all: for the deadline until it is answered, for the grace period
// once its handler was asked to stop. It is not moved when progress extends the deadline; it looks
// again when it fires.
#include <algorithm>

#include "base/clock.hpp"
#include "mcp/engine.hpp"
#include "mcp/modern_checks.hpp"
#include "mcp/token_bucket.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

std::int64_t after_ms(std::int64_t now_ns, std::int64_t ms) noexcept {
    return base::monotonic_ns{now_ns}.plus_ms(ms).value;
}

bool no_time(fault& why, std::uint16_t status, safe_text message, std::string_view data) {
    why.code = rpc::invalid_params;
    why.http_status = status;
    why.message = message;
    why.data_json = data;
    return false;
}

// What the client of `r` grants it, in ms; INT64_MAX when it does not say.
bool asked_time(const request& r, std::int64_t& out, fault& why) noexcept {
    out = INT64_MAX;
    if (r.asked_timeout_ms < 0) {
        return no_time(why, 400, "X-Request-Timeout-Ms must be a number of milliseconds from 1 on",
                       R"({"field":"X-Request-Timeout-Ms","reason":"range"})");
    }
    if (r.asked_timeout_ms > 0) {
        out = r.asked_timeout_ms;
    }
    const json::view wish = r.meta.timeout;
    if (wish.exists()) {
        const auto ms = wish.integral();
        if (!ms || *ms < 1) {
            return no_time(why, 200, "pillion/timeoutMs must be a number of milliseconds from 1 on",
                           R"({"field":"pillion/timeoutMs","reason":"range"})");
        }
        out = std::min(out, *ms);
    }
    return true;
}

}  // namespace

bool engine::begin_call(request& r, fault& why) noexcept {
    std::int64_t asked_ms = 0;
    if (!asked_time(r, asked_ms, why)) {
        return false;
    }
    if (stragglers_.now() > 0 && stragglers_.of(r) >= options_->stragglers_max) {
        r.outcome = "overloaded";
        why.code = rpc::unavailable;
        why.http_status = 503;
        why.message = "Too many earlier calls have not ended yet";
        why.retry_after_s = retry_seconds(options_->grace_ms * 1'000'000);
        return false;
    }
    std::int64_t soft_ms = options_->request_timeout_ms;
    std::int64_t hard_ms = 0;
    if (r.tool != nullptr) {
        soft_ms = r.tool->timeout_ms > 0 ? r.tool->timeout_ms : soft_ms;
        hard_ms = r.tool->timeout_max_ms;
    }
    // Who says nothing of a maximum is not extended by progress.
    hard_ms =
        std::min({hard_ms > 0 ? hard_ms : soft_ms, options_->request_timeout_ms_max, asked_ms});
    const std::int64_t now_ns = loop_.now_ns();
    r.hard_deadline_ns = after_ms(now_ns, hard_ms);
    r.deadline_ns = std::min(after_ms(now_ns, soft_ms), r.hard_deadline_ns);
    r.soft_timeout_ns = r.deadline_ns - now_ns;
    return true;
}

void engine::progress_made(request& r) noexcept {
    if (r.deadline_ns >= r.hard_deadline_ns || r.run != nullptr) {
        return;
    }
    const std::int64_t from = r.asking > 0 ? r.paused_ns : loop_.now_ns();
    r.deadline_ns = std::min(from + r.soft_timeout_ns, r.hard_deadline_ns);
}

void engine::arm_deadline(request& r) noexcept {
    if (r.straggling) {
        return;
    }
    if (r.stop.requested() && r.replied) {
        loop_.arm_in_ms(r.deadline, options_->grace_ms);
    } else if (!r.replied && r.asking == 0 && r.deadline_ns != INT64_MAX) {
        loop_.timers().arm(r.deadline, r.deadline_ns);
    }
}

void engine::pause_deadline(request& r) noexcept {
    if (r.asking++ == 0) {
        asking_ += r.run == nullptr ? 1U : 0U;
        shared_.question_asked();
        r.deadline.cancel();
        r.paused_ns = loop_.now_ns();
    }
}

void engine::resume_deadline(request& r) noexcept {
    if (--r.asking > 0) {
        return;
    }
    asking_ -= r.run == nullptr ? 1U : 0U;
    shared_.question_ended();
    const std::int64_t waited_ns = loop_.now_ns() - r.paused_ns;
    for (std::int64_t* const each : {&r.deadline_ns, &r.hard_deadline_ns}) {
        *each = *each > INT64_MAX - waited_ns ? INT64_MAX : *each + waited_ns;
    }
    if (r.in_table) {
        arm_deadline(r);
    }
}

void engine::stop(request& r, coro::stop_reason why) noexcept {
    // This only marks and schedules; the handler resumes in a later turn, and whatever it returns
    // then finds the request answered.
    r.stop.request(why);
    if (r.in_table && !r.straggling) {
        loop_.arm_in_ms(r.deadline, options_->grace_ms);
    }
}

void engine::on_deadline(io::timer& /*self*/, void* owner) noexcept {
    request& r = *static_cast<request*>(owner);
    engine& self = r.engine;
    // At a shutdown it is stopped, but still to be answered in time.
    if (r.replied || (r.stop.requested() && r.stop.reason() != coro::stop_reason::shutdown)) {
        return self.stragglers_.add(r);
    }
    if (self.loop_.now_ns() < r.deadline_ns) {
        return self.arm_deadline(r);
    }
    r.outcome = "timeout";
    fault why;
    why.code = rpc::timed_out;
    why.http_status = 504;
    why.message = "Request timed out";
    self.stop(r, coro::stop_reason::deadline);
    const std::int64_t due_ns = r.deadline_ns;
    self.reply_error(r, why);
    self.meters_.deadline_fired(self.loop_.clock_ns() - due_ns);
}

}  // namespace pillion::mcp
