#include "mcp/limiter.hpp"

#include "base/metrics_page.hpp"
#include "mcp/replies.hpp"
#include "mcp/tool_gate.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

safe_text text_of(limited_by kind) noexcept {
    switch (kind) {
        case limited_by::handshake:
            return "Too many handshakes";
        case limited_by::tool:
            return "This tool is called too often";
        case limited_by::in_flight:
            return "Too many requests under way";
        case limited_by::connections:
            return "Too many connections";
        case limited_by::subscriptions:
            return "Too many subscriptions";
        case limited_by::streams:
            return "Too many streams";
        default:
            return "Too many requests";
    }
}

}  // namespace

outcome refused_by(const fault& why) noexcept {
    return why.code == rpc::rate_limited ? outcome("rate_limited") : outcome("overloaded");
}

void limiter::refuse(limited_by kind, std::int64_t wait_ns, fault& why) noexcept {
    counters_.note(kind);
    why.code = rpc::rate_limited;
    why.http_status = 429;
    why.message = text_of(kind);
    why.retry_after_s = retry_seconds(wait_ns);
}

void limiter::refuse(shed_by kind, std::int64_t wait_ns, fault& why) noexcept {
    counters_.note(kind);
    why.code = rpc::unavailable;
    why.http_status = 503;
    const bool server = kind == shed_by::requests || kind == shed_by::loop_lag;
    why.message =
        server ? safe_text("The server is overloaded") : safe_text("This tool is overloaded");
    why.retry_after_s = retry_seconds(wait_ns);
}

void limiter::shed(std::size_t under_way, const limit_options& set, fault& why) noexcept {
    refuse(under_way >= set.requests_max ? shed_by::requests : shed_by::loop_lag, second_ns, why);
}

bool limiter::take_request(const caller& by, const caller_rate& rate, fault& why) noexcept {
    bucket_table& table = by.anonymous() ? shared_.addresses : shared_.principals;
    const std::int64_t wait = table.take(by.key(), rate.rate, loop_.now_ns());
    if (wait > 0) {
        refuse(by.anonymous() ? limited_by::address : limited_by::principal, wait, why);
    }
    return wait == 0;
}

bool limiter::take_handshake(const caller& by, const caller_rate& rate, fault& why) noexcept {
    const std::int64_t wait = shared_.handshakes.take(by.address, rate.rate, loop_.now_ns());
    if (wait > 0) {
        refuse(limited_by::handshake, wait, why);
    }
    return wait == 0;
}

bool limiter::take_in_flight(const caller& by, std::size_t max, count_table::hold& out,
                             fault& why) noexcept {
    if (shared_.in_flight.add(by.key(), max, out)) {
        return true;
    }
    refuse(limited_by::in_flight, second_ns, why);
    return false;
}

bool limiter::take_connection(const caller& by, std::size_t max, count_table::hold& out) noexcept {
    if (shared_.connections.add(by.address, max, out)) {
        return true;
    }
    counters_.note(limited_by::connections);
    return false;
}

void limit_counters::collect(base::metrics_page& to) const {
    for (std::size_t i = 0; i < limited_.size(); ++i) {
        to.counter("mcp_server_rate_limited_total",
                   "Refusals because of a caller's or a tool's own limit (-32003).", limited_[i],
                   {{"limit", name_of(static_cast<limited_by>(i))}});
    }
    for (std::size_t i = 0; i < shed_.size(); ++i) {
        to.counter("mcp_server_shed_total", "Refusals because of overload (-32006).", shed_[i],
                   {{"reason", name_of(static_cast<shed_by>(i))}});
    }
}

void limiter::add(queued_call& one) noexcept { queued_.push_back(one); }

void limiter::wake_granted() noexcept {
    for (queued_call& one : queued_) {
        one.wake_if_granted();
    }
}

}  // namespace pillion::mcp
