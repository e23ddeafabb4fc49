#include "sidecar/http_tool.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/utf8.hpp"
#include "json/document.hpp"
#include "json/pointer.hpp"
#include "mcp/engine.hpp"
#include "mcp/request.hpp"
#include "sidecar/http_request.hpp"
#include "sidecar/rpc_peer.hpp"
#include "sidecar/upstream.hpp"

namespace pillion::sidecar {

namespace {

using detail::request_state;

constexpr std::size_t excerpt_bytes = 500;

struct prepared_request {
    http_spec spec;
    http_request request;
    std::shared_ptr<upstream> to;
};

// As the beginning of a message to people: text, and not much of it.
std::string excerpt_of(const client::answer& from) {
    if (from.body.empty() || !base::utf8::validate(from.body)) {
        return {};
    }
    std::string text = from.body.substr(0, excerpt_bytes);
    while (!base::utf8::validate(text)) {
        text.pop_back();
    }
    return "\n" + text + (text.size() < from.body.size() ? "…" : "");
}

tool_result refused_result(context& ctx, const http_spec& spec, const client::answer& got) {
    const auto known = spec.errors.find(got.status);
    if (known != spec.errors.end()) {
        return ctx.error(known->second);
    }
    if (got.status < 400) {
        return ctx.error("The service answered ", std::to_string(got.status),
                         ", a redirect, which is not followed");
    }
    const std::string later =
        got.retry_after_s > 0 ? ", to be asked again in " + std::to_string(got.retry_after_s) + " s"
                              : "";
    return ctx.error("The service answered ", std::to_string(got.status), later, excerpt_of(got));
}

tool_result json_result(context& ctx, const http_spec& spec, const client::answer& got) {
    const auto parsed = json::document::parse(got.body);
    if (!parsed) {
        return ctx.error("The service answered with something that is no JSON");
    }
    const json::view part = json::resolve(parsed->root(), spec.pointer);
    if (!part.exists()) {
        return ctx.error("The answer of the service has nothing at ", spec.pointer);
    }
    tool_result out = ctx.result();
    const std::string compact = json_text(part);
    out.text(part.is_string() ? part.str() : std::string_view(compact));
    if (part.is_object()) {
        out.structured(compact);
    }
    return out;
}

tool_result good_answer(context& ctx, const http_spec& spec, const client::answer& got) {
    // RFC 9110 §8.3.1: in any case of letters.
    std::string type = got.content_type;
    std::transform(type.begin(), type.end(), type.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    const bool automatic = spec.takes == http_spec::output::automatic;
    const bool json = type.starts_with("application/json") || type.find("+json") != type.npos;
    if (spec.takes == http_spec::output::json || !spec.pointer.empty() ||
        (automatic && json && !got.body.empty())) {
        return json_result(ctx, spec, got);
    }
    const std::string_view mime = std::string_view(type).substr(0, type.find(';'));
    const bool clear =
        std::all_of(mime.begin(), mime.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!clear) {
        return ctx.error("The service answered with a malformed Content-Type");
    }
    if (automatic && mime.starts_with("image/")) {
        return ctx.result().image(got.body, mime);
    }
    if (automatic && mime.starts_with("audio/")) {
        return ctx.result().audio(got.body, mime);
    }
    if (!base::utf8::validate(got.body)) {
        return ctx.error("The service answered with something that is no text");
    }
    return ctx.text(got.body);
}

// The fields that follow a request: whose it is, and how long it may take.
void add_trail(context& ctx, client::question& to) {
    const trace_context trace = ctx.trace();
    if (!trace.traceparent.empty()) {
        set_field(to, "traceparent", std::string(trace.traceparent));
    }
    if (!trace.tracestate.empty()) {
        set_field(to, "tracestate", std::string(trace.tracestate));
    }
    // A description may have it among its parameters.
    if (!has_field(to, "X-Request-Id")) {
        to.headers.emplace_back("X-Request-Id", ctx.request_id());
    }
    const std::int64_t left_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(ctx.remaining()).count();
    constexpr std::int64_t most_ms = 3'600'000;
    const std::int64_t time_ms = std::clamp<std::int64_t>(left_ms, 1, most_ms);
    to.headers.emplace_back("X-Request-Timeout-Ms", std::to_string(time_ms));
}

client::question question_to(const upstream& at) {
    client::question what;
    what.to = at.where;
    what.accept = "*/*";
    what.socket = at.spec->socket;
    // Its own: a client that grants less time ends its request by itself, and says nothing about
    // us.
    what.timeout_ms = at.spec->answer_timeout_ms;
    what.answer_bytes_max = at.spec->answer_bytes_max;
    for (const name_and_text& one : at.spec->headers) {
        set_field(what, one.first, one.second);
    }
    return what;
}

// A call's request for the second time, where the budget has room for it. Only what changes nothing
// (RFC 9110 §9.2.1) is sent while the first is under way: of two PUTs the one that is late may undo
// what others have done since.
class hedge final : public second_request {
 public:
    hedge(const prepared_request& what, context& ctx, json::view arguments)
        : what_(what), ctx_(ctx), arguments_(arguments) {}

    // The answer of `first`, or of the second where there is to be one. A plain function, so that
    // the frame of the call holds one question in passing and not one for each way.
    task<client::answer> fetch(upstream_parts& parts, client::question first, breaker::permit by,
                               std::size_t tries, coro::stop_node& stop) {
        const upstream_spec& of = *what_.to->spec;
        if (of.hedge_ms > 0 && what_.request.harmless() && tries < of.retries) {
            return parts.fetch_hedged(what_.to, std::move(first), by, *this, stop);
        }
        return parts.fetch(what_.to, std::move(first), by, stop);
    }
    std::optional<client::question> make() override {
        client::question made = question_to(*what_.to);
        std::string ignored;
        if (!what_.request.render(arguments_, made, ignored) || !what_.to->retries.spend()) {
            return std::nullopt;
        }
        add_trail(ctx_, made);
        ++made_;
        return made;
    }
    // How many there were since it was asked.
    std::size_t take_made() noexcept { return std::exchange(made_, 0); }

 private:
    const prepared_request& what_;
    context& ctx_;
    json::view arguments_;
    std::size_t made_ = 0;
};

task<tool_result> make_request(std::shared_ptr<const prepared_request> what, context& ctx,
                               json::view arguments) {
    request_state& r = request_state::of(ctx);
    auto& parts = r.engine.part<upstream_parts>();
    upstream& at = *what->to;
    client::answer got;
    hedge again(*what, ctx, arguments);
    coro::stop_node& stop = request_state::stop_of(ctx);
    at.retries.asked();
    for (std::size_t tries = 0;; ++tries) {
        client::question question = question_to(at);
        std::string fault;
        if (!what->request.render(arguments, question, fault)) {
            co_return ctx.error(fault);
        }
        add_trail(ctx, question);
        const breaker::permit may_go = at.state.ask(what->request.harmless(), parts.now_ms());
        if (!may_go.given && tries > 0) {
            break;  // what it said last is the answer
        }
        if (!may_go.given) {
            const std::int64_t wait_s = (at.state.closed_for_ms(parts.now_ms()) + 999) / 1000;
            co_return ctx.unavailable("The service behind this is failing",
                                      std::max<std::int64_t>(wait_s, 1));
        }
        got = co_await again.fetch(parts, std::move(question), may_go, tries, stop);
        tries += again.take_made();
        if (got.fault == upstream_parts::stopped) {
            co_return ctx.error("The request was stopped");
        }
        if (!is_trouble(got)) {
            break;
        }
        // What never left may go again whatever it is.
        const bool may = what->request.idempotent() || (!got.fault.empty() && !got.sent);
        if (!may || tries >= at.spec->retries || !at.retries.spend()) {
            break;
        }
    }
    if (got.fault == client::agent::too_large) {
        co_return ctx.error("The answer of the service is too large");
    }
    if (!got.fault.empty()) {
        co_return ctx.unavailable("The service behind this did not answer");
    }
    const bool good = got.status < 300 || got.status == 304;
    if (!good || what->spec.errors.contains(got.status)) {
        co_return refused_result(ctx, what->spec, got);
    }
    co_return good_answer(ctx, what->spec, got);
}

}  // namespace

bool check(const http_spec& what, std::string& fault) {
    http_request ignored;
    for (const name_and_text& one : what.upstream->headers) {
        std::string ignored_text;
        if (!is_settable_field(one.first) || !add_field_text(one.second, ignored_text)) {
            fault = "http.upstream: its header " + one.first + " cannot be set so";
            return false;
        }
    }
    const auto to = upstream_of(what.upstream, fault);
    if (to == nullptr || !http_request::parse(what, to->where.target, ignored, fault)) {
        fault = "http." + fault;
        return false;
    }
    return true;
}

std::function<task<tool_result>(context&, json::view)> http_handler(http_spec what) {
    auto prepared = std::make_shared<prepared_request>();
    std::string ignored;
    prepared->to = upstream_of(what.upstream, ignored);
    http_request::parse(what, prepared->to->where.target, prepared->request, ignored);
    prepared->spec = std::move(what);
    return [prepared](context& ctx, json::view arguments) {
        return make_request(prepared, ctx, arguments);
    };
}

}  // namespace pillion::sidecar
