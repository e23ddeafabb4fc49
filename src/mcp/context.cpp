// The public context (include/pillion/context.hpp) over a request.
#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>

#include <pillion/context.hpp>

#include "auth/scopes.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "coro/sync.hpp"
#include "io/sleep.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "mcp/ask_chain.hpp"
#include "mcp/client_capability.hpp"
#include "mcp/engine.hpp"
#include "mcp/file_read.hpp"
#include "mcp/modern_checks.hpp"
#include "mcp/progress_pace.hpp"
#include "mcp/replies.hpp"
#include "mcp/task_run.hpp"
#include "mcp/time_limit.hpp"
#include "rpc/errors.hpp"

namespace pillion {

namespace {

// How long blocking() looks for a helper that takes the work of who was stopped.
constexpr std::int64_t tidy_up_ns = 1'000'000'000;

detail::result_state* new_state(detail::request_state& r) {
    return r.memory.make<detail::result_state>(r);
}

json::view capability_at(json::view from, std::string_view path) noexcept {
    while (!path.empty() && from.exists()) {
        const std::size_t dot = path.find('.');
        from = from[path.substr(0, dot)];
        path = dot == path.npos ? std::string_view{} : path.substr(dot + 1);
    }
    return from;
}

// {"requiredCapabilities":{"a":{"b":{}}}}
void write_required(json::writer& w, std::string_view capability) {
    w.fragment(R"({"requiredCapabilities":)");
    std::size_t depth = 0;
    for (std::string_view rest = capability; !rest.empty(); ++depth) {
        const std::size_t dot = rest.find('.');
        w.begin_object();
        w.string_lossy(rest.substr(0, dot));
        w.fragment(":");
        rest = dot == rest.npos ? std::string_view{} : rest.substr(dot + 1);
    }
    w.fragment("{}");
    for (; depth > 0; --depth) {
        w.end_object();
    }
    w.end_object();
}

// What a client of 2026-07-28 hears that lacks what the request cannot do without.
detail::result_state* capability_fault(detail::request_state& r, std::string_view capability) {
    base::byte_buffer data(r.memory.pool());
    json::writer w(data);
    write_required(w, capability);
    detail::result_state* out = new_state(r);
    out->code = rpc::missing_capability;
    out->http_status = 400;
    out->message = "Missing required client capability";
    out->data_json = r.memory.dup(data.view());
    return out;
}

// A failure of a prompt or a resource, which have no results that are errors.
detail::result_state* failed(detail::request_state& r, const pillion::error& what) {
    const mcp::client_capability* needed = mcp::lacking(what);
    if (needed != nullptr && r.modern()) {
        return capability_fault(r, needed->name);
    }
    detail::result_state* out = new_state(r);
    out->code = rpc::internal_error;
    out->message = needed != nullptr ? mcp::safe_text::of_constant(what.detail)
                                     : mcp::error_text(r, what.detail);
    return out;
}

}  // namespace

std::string_view context::method() const noexcept { return state_->method; }
std::string_view context::target() const noexcept { return state_->target; }
std::string_view context::protocol_version() const noexcept { return mcp::name_of(state_->rev); }
std::string_view context::request_id() const noexcept { return state_->request_id; }
json::view context::meta() const noexcept { return state_->meta.all; }

trace_context context::trace() const noexcept { return state_->trace; }
std::string_view context::client_name() const noexcept {
    if (state_->session != nullptr) {
        return state_->session->client_name();
    }
    return state_->meta.client_info["name"].str();
}

std::string_view context::principal() const noexcept { return state_->principal; }

bool context::has_scope(std::string_view scope) const noexcept {
    return !state_->payer.limited || auth::covers(state_->payer.scopes, scope);
}

std::string_view context::client_version() const noexcept {
    if (state_->session != nullptr) {
        return state_->session->client_version();
    }
    return state_->meta.client_info["version"].str();
}

bool context::client_can(std::string_view capability) const noexcept {
    json::view declared = state_->client_capabilities;
    if (!declared.exists() && state_->session != nullptr) {
        declared = state_->parse(state_->session->capabilities_json());
        state_->client_capabilities = declared;
    }
    // An empty elicitation object means form mode (REVISIONS §6.2).
    if (capability == "elicitation.form") {
        const json::view modes = declared["elicitation"];
        return modes.is_object() && (modes.size() == 0 || modes["form"].is_object());
    }
    const json::view found = capability_at(declared, capability);
    return found.exists() && !found.is_null();
}

std::string_view context::variable(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < state_->variable_count; ++i) {
        if (state_->variables[i].name == name) {
            return state_->variables[i].value;
        }
    }
    return {};
}

tool_result context::result() { return tool_result(new_state(*state_)); }

namespace {

// The parts as one text that lives as long as the request; as much of it as there is memory for.
std::string_view joined(base::arena& memory, const std::string_view* parts, std::size_t count,
                        std::size_t bytes_max, bool& cut) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        bytes += parts[i].size();
    }
    // Arguments that are given back as they came stay where they are.
    constexpr std::size_t worth_a_look = 512;
    if (count == 1 && bytes >= worth_a_look && memory.holds(parts[0])) {
        return parts[0];
    }
    char* text = static_cast<char*>(memory.try_allocate(bytes, 1));
    if (text == nullptr) {
        // As much as may be sent is worth something.
        cut = true;
        bytes = std::min(bytes, bytes_max);
        text = static_cast<char*>(memory.try_allocate(bytes, 1));
        bytes = text == nullptr ? 0 : bytes;
    }
    std::size_t done = 0;
    for (std::size_t i = 0; i < count && done < bytes; ++i) {
        done += parts[i].copy(text + done, bytes - done);
    }
    return {text, bytes};
}

}  // namespace

tool_result context::text_parts(const std::string_view* parts, std::size_t count, bool failed) {
    detail::result_state* out = new_state(*state_);
    out->failed = failed;
    const std::string_view text =
        joined(state_->memory, parts, count, state_->engine.options().result_bytes_max, out->cut);
    auto* node = state_->memory.make<detail::content_node>();
    node->body = text;
    out->first = out->last = node;
    out->count = 1;
    return tool_result(out);
}

tool_result context::error(const pillion::error& what) {
    const mcp::client_capability* needed = mcp::lacking(what);
    if (needed != nullptr && state_->modern()) {
        return tool_result(capability_fault(*state_, needed->name));
    }
    const std::string_view text(what.detail);
    return text_parts(&text, 1, true);
}

tool_result context::refuse_arguments(std::string_view field) {
    detail::result_state* out = new_state(*state_);
    out->refused = true;
    out->refused_field = keep(field);
    return tool_result(out);
}

tool_result context::rpc_error(int code, std::string_view message, std::string_view data_json) {
    detail::result_state* out = new_state(*state_);
    out->code = code == 0 ? rpc::internal_error : code;
    out->message = mcp::error_text(*state_, message);
    if (!data_json.empty()) {
        out->data_json = mcp::error_data(*state_, state_->parse(data_json));
    }
    return tool_result(out);
}

tool_result context::missing_capability(std::string_view capability) {
    if (!state_->modern()) {
        return error("This tool needs a client with the capability \"", capability, "\".");
    }
    return tool_result(capability_fault(*state_, capability));
}

prompt_result context::prompt(std::string_view description) {
    detail::result_state* out = new_state(*state_);
    out->description = keep(description);
    return prompt_result(out);
}

prompt_result context::prompt_error(std::string_view message) {
    detail::result_state* out = new_state(*state_);
    out->code = rpc::invalid_params;
    out->message = mcp::error_text(*state_, message);
    return prompt_result(out);
}

prompt_result context::prompt_error(const pillion::error& what) {
    return prompt_result(failed(*state_, what));
}

resource_result context::contents() { return resource_result(new_state(*state_)); }

resource_result context::not_found() {
    detail::result_state* out = new_state(*state_);
    out->code = state_->modern() ? rpc::invalid_params : rpc::resource_not_found;
    out->http_status = state_->registered().corporate() ? 404 : 200;
    out->message = "Resource not found";
    base::byte_buffer data(state_->memory.pool());
    json::writer w(data);
    w.fragment(R"({"uri":)");
    w.string_lossy(state_->target);
    w.fragment("}");
    out->data_json = keep(data.view());
    return resource_result(out);
}

resource_result context::unreadable(const pillion::error& what) {
    if (what.kind == errc::not_found) {
        return not_found();
    }
    return resource_result(failed(*state_, what));
}

namespace {

detail::result_state* refused(detail::request_state& r, int code, std::string_view message,
                              std::int64_t retry_after_s) {
    constexpr std::int64_t longest_s = 24L * 60 * 60;
    detail::result_state* out = new_state(r);
    out->code = code;
    out->message = mcp::error_text(r, message);
    out->retry_after_s =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(retry_after_s, 0, longest_s));
    return out;
}

}  // namespace

refusal context::rate_limited(std::string_view message, std::int64_t retry_after_s) {
    return refusal(refused(*state_, rpc::rate_limited, message, std::max(retry_after_s, 1L)));
}

refusal context::unavailable(std::string_view message, std::int64_t retry_after_s) {
    return refusal(refused(*state_, rpc::unavailable, message, retry_after_s));
}

refusal context::conflict(std::string_view message) {
    return refusal(refused(*state_, rpc::conflict, message, 0));
}

completion_result context::completion() { return completion_result(new_state(*state_)); }

std::string_view context::keep(std::string_view text) {
    const std::string_view kept = state_->memory.try_dup(text);
    if (kept.data() == nullptr && !text.empty()) {
        state_->memory.exceed();
    }
    return kept;
}

coro::stop_node& context::stop_node() const noexcept {
    return limit_ == nullptr ? state_->stop : limit_->stop();
}

bool context::stopped() const noexcept { return stop_node().requested(); }

stop_cause context::why_stopped() const noexcept {
    switch (stop_node().reason()) {
        case coro::stop_reason::none:
            return stop_cause::none;
        case coro::stop_reason::client_cancelled:
            return stop_cause::client;
        case coro::stop_reason::deadline:
            return stop_cause::deadline;
        case coro::stop_reason::disconnected:
        case coro::stop_reason::session_ended:
            return stop_cause::disconnected;
        case coro::stop_reason::shutdown:
            return stop_cause::shutdown;
        case coro::stop_reason::input_required:
            return stop_cause::asked;
    }
    return stop_cause::none;
}

std::chrono::nanoseconds context::remaining() const noexcept {
    const detail::request_state& r = *state_;
    const std::int64_t now = r.engine.loop().now_ns();
    std::int64_t left = INT64_MAX;
    if (r.deadline_ns != INT64_MAX) {
        // It stands still while the user is asked.
        left = r.deadline_ns - (r.asking > 0 ? r.paused_ns : now);
    }
    if (limit_ != nullptr) {
        left = std::min(left, limit_->due_ns() - now);
    }
    return std::chrono::nanoseconds(left < 0 ? 0 : left);
}

namespace {

std::int64_t after(std::int64_t now_ns, std::chrono::nanoseconds wait) noexcept {
    const std::int64_t ns = wait.count() < 0 ? 0 : wait.count();
    return ns > INT64_MAX - now_ns ? INT64_MAX : now_ns + ns;
}

}  // namespace

task<bool> context::sleep(std::chrono::nanoseconds duration) {
    io::reactor& loop = state_->engine.loop();
    const std::int64_t due = after(loop.now_ns(), duration);
    const bool whole = co_await io::sleep_until(loop, due, &stop_node());
    co_return whole;
}

task<pillion::result<void>> context::run_within(std::chrono::nanoseconds limit,
                                                const limited_call& call) {
    io::reactor& loop = state_->engine.loop();
    std::int64_t due = after(loop.now_ns(), limit);
    if (limit_ != nullptr) {
        due = std::min(due, limit_->due_ns());
    }
    detail::time_limit until(loop, stop_node(), due);
    context inner(state_, &until);
    task<> work = call.run(call.work, inner, call.to);
    co_await std::move(work);
    if (until.passed()) {
        co_return pillion::error(errc::timed_out, "It took longer than it may");
    }
    if (stopped()) {
        co_return pillion::error(errc::cancelled, "The request was stopped");
    }
    co_return pillion::ok();
}

task<bool> context::yield() {
    co_await coro::yield();
    co_return !stopped();
}

task<> context::until_stopped() {
    coro::event never;
    co_await never.wait(&stop_node());
}

bool context::begin_task() { return state_->engine.become_task(*state_); }

bool context::is_task() const noexcept { return state_->run != nullptr; }

task<bool> context::progress(double done, double total, std::string_view message) {
    detail::request_state& r = *state_;
    if (r.as_task == detail::request_state::task_mode::running && !message.empty() && !stopped()) {
        r.run->say(message);
    }
    // NaN and infinities have no JSON form.
    const bool increases = std::isfinite(done) && (!r.progressed || done > r.last_progress);
    if (r.progress_token.exists() && increases && !stopped() && r.channel != nullptr) {
        if (!mcp::progress_pace::report(r, done, total, message)) {
            r.drained.reset();
            co_await r.drained.wait(&stop_node());
        }
    }
    co_return !stopped();
}

bool context::release_connection(std::chrono::milliseconds retry) {
    return state_->channel != nullptr && !stopped() &&
           state_->channel->release(*state_, retry.count());
}

namespace {

bool wants_log(const detail::request_state& r, log_level level) noexcept {
    if (r.channel == nullptr) {
        return false;
    }
    if (r.modern()) {
        return r.has_log_level && level >= r.threshold;
    }
    return r.session != nullptr && level >= r.session->threshold();
}

task<bool> send_log(detail::request_state& r, coro::stop_node& stop, log_level level,
                    std::string_view data, std::string_view logger, bool plain) {
    if (!stop.requested() && wants_log(r, level)) {
        r.drained.set();
        if (!r.channel->notify(r, mcp::log_message(r, level, logger, data, plain))) {
            r.drained.reset();
            co_await r.drained.wait(&stop);
        }
    }
    co_return !stop.requested();
}

// Re-rendered from a parse, so that no malformed or multi-line text reaches the wire; null for what
// is no JSON. In memory of its own: a call may log without end.
base::byte_buffer reread(detail::request_state& r, std::string_view json) {
    base::arena memory(r.memory.pool());
    memory.limit(r.engine.options().request_memory_bytes_max);
    json::view data;
    char* copy = static_cast<char*>(memory.try_allocate(json.size() + limits::padding, 1));
    if (copy != nullptr) {
        json.copy(copy, json.size());
        const json::parse_result parsed = json::parse(copy, json.size(), memory);
        data = parsed.ok ? parsed.root : data;
    }
    base::byte_buffer out(r.memory.pool());
    json::writer(out).value(data);
    return out;
}

task<bool> send_json_log(detail::request_state& r, coro::stop_node& stop, log_level level,
                         base::byte_buffer data, std::string_view logger) {
    const bool on = co_await send_log(r, stop, level, data.view(), logger, false);
    co_return on;
}

}  // namespace

task<bool> context::log(log_level level, std::string_view text, std::string_view logger) {
    return send_log(*state_, stop_node(), level, text, logger, true);
}

task<bool> context::log_json(log_level level, std::string_view json, std::string_view logger) {
    if (!wants_log(*state_, level)) {
        return send_log(*state_, stop_node(), level, {}, logger, false);
    }
    return send_json_log(*state_, stop_node(), level, reread(*state_, json), logger);
}

namespace {

// Waits for the last of the tasks of context::all().
class last_one {
 public:
    last_one(void*& slot, const std::size_t& running) noexcept : slot_(slot), running_(running) {}
    last_one(const last_one&) = delete;
    last_one& operator=(const last_one&) = delete;

    bool await_ready() const noexcept { return running_ == 0; }
    void await_suspend(std::coroutine_handle<> caller) noexcept {
        caller_ = caller;
        slot_ = this;
    }
    void await_resume() const noexcept {}
    void wake() noexcept { node_.schedule(caller_); }

 private:
    void*& slot_;
    const std::size_t& running_;
    std::coroutine_handle<> caller_;
    coro::resume_node node_;
};

}  // namespace

task<> context::guard(parallel& together, task<> body) {
    try {
        co_await std::move(body);
    } catch (...) {
        if (!together.fault_) {
            together.fault_ = std::current_exception();
        }
    }
    if (--together.running_ == 0 && together.waiter_ != nullptr) {
        static_cast<last_one*>(together.waiter_)->wake();
    }
}

void context::spawn(parallel& together, task<> body) {
    ++together.running_;
    together.of_.state_->engine.spawn(guard(together, std::move(body)));
}

task<> context::wait_all(parallel& together) {
    last_one last(together.waiter_, together.running_);
    co_await last;
    if (together.fault_) {
        std::rethrow_exception(together.fault_);
    }
}

void context::remember(std::string_view name, std::string_view json) {
    const json::view value = state_->parse(json);
    mcp::ask_chain::of(*state_).remember(name, value);
}

json::view context::remembered(std::string_view name) const {
    return mcp::ask_chain::of(*state_).remembered(name);
}

std::string_view context::remember_text(std::string_view name, std::string_view text) {
    json::builder quoted;
    quoted.value(text);
    remember(name, quoted.text());
    return remembered(name).str();
}

task<> context::run_blocking(const blocking_call& call) {
    blocking_call copy(call);
    std::exception_ptr thrown;
    auto work = [&copy, &thrown]() noexcept {
        try {
            copy.run(copy.work, copy.to);
        } catch (...) {
            thrown = std::current_exception();
        }
        return true;
    };
    mcp::engine& e = state_->engine;
    auto offloaded = io::run_blocking(e.shared().blocking(), e.loop(), std::move(work));
    std::int64_t give_up_ns = e.loop().now_ns() + tidy_up_ns;
    while (true) {
        const pillion::result<bool> done = co_await offloaded;
        if (done) {
            break;
        }
        // The pool is full: try again shortly rather than fail the handler. Who was stopped may
        // have to tidy up and waits as well, but not for ever: there may be no thread to be had.
        const std::int64_t now = e.loop().now_ns();
        if (!stopped()) {
            give_up_ns = now + tidy_up_ns;
        } else if (now >= give_up_ns) {
            throw std::runtime_error("no helper thread took the work");
        }
        co_await io::sleep_until(e.loop(), now + 1'000'000, nullptr);
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
}

task<pillion::result<std::string_view>> context::read_file(std::string_view path,
                                                           std::uint64_t offset,
                                                           std::size_t bytes_max) {
    if (stopped()) {
        co_return pillion::error(errc::cancelled, "the request was stopped");
    }
    mcp::file_read job(std::string(path), offset, bytes_max);
    auto work = [&job] { return job.run(); };
    const pillion::result<void> got = co_await blocking(work);
    if (!got) {
        co_return got.error();
    }
    const std::string_view kept = state_->memory.try_dup(job.bytes());
    if (kept.data() == nullptr && !job.bytes().empty()) {
        co_return pillion::error(errc::too_large, "the request holds too much");
    }
    co_return kept;
}

server& context::host() const noexcept { return state_->engine.shared().host(); }

}  // namespace pillion
