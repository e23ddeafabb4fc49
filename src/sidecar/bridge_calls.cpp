#include "sidecar/bridge_calls.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "json/document.hpp"
#include "mcp/client_call.hpp"
#include "mcp/engine.hpp"
#include "mcp/request.hpp"
#include "rpc/errors.hpp"
#include "sidecar/bridge.hpp"
#include "sidecar/result_import.hpp"

namespace pillion::sidecar {

namespace {

using detail::request_state;

// Names in the sealed state of a client's chain of rounds.
constexpr std::string_view parked_key = "bridge";
constexpr std::string_view round_key = "bridge_round";
constexpr std::int64_t question_limit_ms = 5 * 60 * 1000;
constexpr std::size_t rounds_max = 32;

std::string text_member(std::string_view name, std::string_view text) {
    json::builder b;
    b.value(text);
    return "\"" + std::string(name) + "\":" + std::string(b.text());
}

call_event failed_call(int code, const char* message) {
    call_event e;
    e.code = code;
    e.text = message;
    return e;
}

// What the client can be asked, as JSON, of whichever era it is.
std::string capabilities_of(context& ctx) {
    ctx.client_can("sampling");  // reads those of the session
    const json::view declared = request_state::of(ctx).client_capabilities;
    return declared.is_object() ? json_text(declared) : "{}";
}

constexpr std::string_view levels[] = {"debug", "info",     "notice", "warning",
                                       "error", "critical", "alert",  "emergency"};

// The least that the client wants to hear; empty: nothing.
std::string log_level_of(context& ctx) {
    const request_state& r = request_state::of(ctx);
    if (r.modern()) {
        return r.has_log_level ? std::string(levels[static_cast<std::size_t>(r.threshold)]) : "";
    }
    return r.session != nullptr
               ? std::string(levels[static_cast<std::size_t>(r.session->threshold())])
               : "";
}

// What a server of 2026-07-28 asks beside other things, while it is asked of the client.
struct open_question {
    std::string key;  // the server's
    std::string method;
    std::string params;
    std::string answer;  // JSON; empty: none
};

bool can_be_asked(context& ctx, std::string_view method, json::view params) {
    if (method == "sampling/createMessage") {
        return ctx.client_can("sampling");
    }
    if (method == "roots/list") {
        return ctx.client_can("roots");
    }
    const bool page = params["mode"].str() == "url";
    const mcp::revision rev = request_state::of(ctx).rev;
    if (rev < mcp::revision::r2025_06_18) {
        return false;
    }
    return rev == mcp::revision::r2025_06_18
               ? !page && ctx.client_can("elicitation")
               : ctx.client_can(page ? "elicitation.url" : "elicitation.form");
}

// One call, from its handler's side.
class relay {
 public:
    relay(bridge& by, const std::string& server, context& ctx)
        : bridge_(by), server_(server), ctx_(ctx) {}
    relay(const relay&) = delete;
    relay& operator=(const relay&) = delete;
    ~relay() { let_go(); }

    // Hands the call on and sees it to its end: a result or an error; nothing when the request was
    // stopped. `params`: members, as JSON without the braces.
    task<std::optional<call_event>> run(std::string method, std::string params);

 private:
    void begin(const std::string& method, std::string params, std::string owner);
    task<std::optional<call_event>> wait();
    task<bool> put(const call_event& question);
    std::vector<open_question> questions_of(json::view asked);
    task<> put_one(open_question& what, const std::string& suffix, std::size_t& left,
                   coro::event& done);
    task<> put_all(std::vector<open_question>& all, const std::string& suffix);
    static std::string answers_of(const std::vector<open_question>& all);
    task<result<json::view>> ask(std::string_view method, std::string_view params,
                                 std::string_view key);
    task<bool> say(const call_event& what);
    void stopped();
    bool park();
    void cancel(const char* why);
    void let_go();

    bridge& bridge_;
    const std::string& server_;
    context& ctx_;
    std::shared_ptr<bridged_call> call_;
    coro::event arrived_;
    std::string parked_;    // the name of the call where it waits; empty: it does not
    bool no_room_ = false;  // for it to wait
};

void relay::begin(const std::string& method, std::string params, std::string owner) {
    request_state& r = request_state::of(ctx_);
    const std::uint32_t roots_changes = r.session == nullptr ? 0 : r.session->roots_changes();
    bridged_call::request what{
        method,           std::move(params), capabilities_of(ctx_), log_level_of(ctx_),
        std::move(owner), roots_changes};
    call_ = std::make_shared<bridged_call>(r.engine.shared(), std::move(what));
    call_->attach(r.engine.shard(), arrived_);
    auto hand_over = [call = call_](server_group* at) {
        if (at != nullptr) {
            return at->begin(call);
        }
        call->push(failed_call(rpc::unavailable, "The server behind this is not there any more"));
    };
    if (!bridge_.with(server_, std::move(hand_over))) {
        call_->push(failed_call(rpc::unavailable, "The server is shutting down"));
    }
}

task<std::optional<call_event>> relay::run(std::string method, std::string params) {
    request_state& r = request_state::of(ctx_);
    const std::string owner = owner_of(ctx_);
    // A round of an earlier request of the same chain: the server's question, or its state.
    std::string round(ctx_.remembered(round_key)["said"].str());
    auto number = ctx_.remembered(round_key)["number"].u64().value_or(0);
    const json::view name = ctx_.remembered(parked_key);
    if (name.is_string()) {
        parked_ = name.str();
        call_ = bridge_.parked().find(parked_, owner).call;
        if (call_ == nullptr) {
            co_return failed_call(rpc::invalid_params, "The call has not waited for the answer");
        }
        call_->attach(r.engine.shard(), arrived_);
    } else if (round.empty()) {
        begin(method, params, owner);
    }
    for (std::size_t rounds = 0; rounds < rounds_max; ++rounds) {
        if (round.empty()) {
            std::optional<call_event> end = co_await wait();
            if (!end || end->what != call_event::kind::result ||
                end->text.find("input_required") == std::string::npos) {
                co_return end;
            }
            round = end->text;
        }
        const auto parsed = json::document::parse(round);
        const json::view said = parsed ? parsed->root() : json::view();
        if (said["resultType"].str() != "input_required") {
            call_event end;
            end.what = call_event::kind::result;
            end.text = std::move(round);
            co_return end;
        }
        json::builder remembered;
        remembered.begin_object().member("said", round).member("number", number).end_object();
        ctx_.remember(round_key, remembered.text());
        std::vector<open_question> asked = questions_of(said["inputRequests"]);
        // What is asked again in a later round is another question.
        const std::string suffix = number == 0 ? "" : "_" + std::to_string(number);
        co_await put_all(asked, suffix);
        if (request_state::stop_of(ctx_).requested()) {
            co_return std::nullopt;
        }
        const std::string answers = answers_of(asked);
        ++number;
        std::string again = params;
        again.append(R"(,"inputResponses":)").append(answers);
        if (said["requestState"].is_string()) {
            again.append(",").append(text_member("requestState", said["requestState"].str()));
        }
        round.clear();
        let_go();
        begin(method, std::move(again), owner);
    }
    co_return failed_call(rpc::internal_error, "The server behind this asks without end");
}

// Until the server has answered.
task<std::optional<call_event>> relay::wait() {
    coro::stop_node& stop = request_state::stop_of(ctx_);
    for (;;) {
        const bool woken = co_await arrived_.wait(&stop);
        if (!woken) {
            stopped();
            co_return std::nullopt;
        }
        std::optional<call_event> next = call_->front(arrived_);
        if (!next && call_->is_overtaken(arrived_)) {
            co_return failed_call(rpc::invalid_params, "Another request goes on with the call");
        }
        if (!next) {
            continue;
        }
        if (next->what == call_event::kind::result || next->what == call_event::kind::error) {
            if (!parked_.empty()) {
                bridge_.parked().forget(parked_);
            }
            co_return next;
        }
        bool on = true;
        if (next->what == call_event::kind::question) {
            on = co_await put(*next);
        } else {
            on = co_await say(*next);
        }
        if (!on && stop.requested()) {
            stopped();
            co_return std::nullopt;
        }
        if (no_room_) {
            co_return failed_call(rpc::unavailable,
                                  "Too many calls wait for what their clients will answer");
        }
        call_->pop(arrived_);
    }
}

// The call has not ended. Who waits for an answer, or has overtaken us, goes on with it.
void relay::stopped() {
    const bool waits = request_state::stop_of(ctx_).reason() == coro::stop_reason::input_required;
    if (call_->detach(arrived_) && !waits) {
        cancel(ctx_.why_stopped() == stop_cause::deadline ? "deadline" : "cancelled");
    }
}

task<bool> relay::say(const call_event& what) {
    if (what.what == call_event::kind::progress) {
        co_return co_await ctx_.progress(what.done, what.total, what.text);
    }
    const auto parsed = json::document::parse(what.text);
    const json::view params = parsed ? parsed->root() : json::view();
    auto level = log_level::info;
    for (std::size_t i = 0; i < std::size(levels); ++i) {
        if (params["level"].str() == levels[i]) {
            level = static_cast<log_level>(i);
        }
    }
    const std::string data = json_text(params["data"]);
    const std::string_view logger = params["logger"].str(server_);
    co_return co_await ctx_.log_json(level, data, logger);
}

task<result<json::view>> relay::ask(std::string_view method, std::string_view params,
                                    std::string_view key) {
    auto fits = [](json::view given) { return given.is_object(); };
    const mcp::asking what{
        method, params, key, question_limit_ms, fits, false, &request_state::stop_of(ctx_)};
    co_return co_await mcp::ask_client(request_state::of(ctx_), what);
}

// A question that the server asks by a request; false when the request was stopped over it. Where
// the call cannot wait for the answer the client is not asked.
task<bool> relay::put(const call_event& question) {
    const auto parsed = json::document::parse(question.text);
    const bool can = parsed && can_be_asked(ctx_, question.method, parsed->root());
    const std::string key = "bridge_" + question.id;
    std::string answer;
    if (can && park()) {
        const result<json::view> given = co_await ask(question.method, question.text, key);
        if (given) {
            answer = json_text(*given);
        } else if (request_state::stop_of(ctx_).requested()) {
            co_return false;
        }
    }
    if (no_room_) {
        cancel("too many calls wait for clients");
    }
    const std::string& owner = call_->asked().owner;
    bridge_.with(server_, [owner, asked = question.asked, answer](server_group* at) {
        if (at == nullptr) {
            return;
        }
        if (answer.empty()) {
            at->refuse(owner, asked, rpc::invalid_request, "The client cannot be asked this");
        } else {
            at->answer(owner, asked, answer);
        }
    });
    co_return true;
}

// What the client can be asked of it; the server was told what it can.
std::vector<open_question> relay::questions_of(json::view asked) {
    std::vector<open_question> all;
    if (!asked.is_object()) {
        return all;
    }
    for (const json::member one : asked.members()) {
        const json::view params = one.value["params"];
        open_question next;
        next.key = one.key;
        next.method = one.value["method"].str();
        next.params = params.exists() ? json_text(params) : "{}";
        if (can_be_asked(ctx_, next.method, params)) {
            all.push_back(std::move(next));
        }
    }
    return all;
}

task<> relay::put_one(open_question& what, const std::string& suffix, std::size_t& left,
                      coro::event& done) {
    const std::string key = what.key + suffix;
    const result<json::view> given = co_await ask(what.method, what.params, key);
    if (given) {
        what.answer = json_text(*given);
    }
    if (--left == 0) {
        done.set();
    }
}

// All at once: a client of 2026-07-28 is asked all of it in one result of ours.
task<> relay::put_all(std::vector<open_question>& all, const std::string& suffix) {
    std::size_t left = all.size();
    if (left == 0) {
        co_return;
    }
    coro::event done;
    for (open_question& one : all) {
        request_state::of(ctx_).engine.spawn(put_one(one, suffix, left, done));
    }
    co_await done.wait();
}

std::string relay::answers_of(const std::vector<open_question>& all) {
    json::builder b;
    b.begin_object();
    for (const open_question& one : all) {
        if (!one.answer.empty()) {
            b.key(one.key).raw(one.answer);
        }
    }
    b.end_object();
    return std::string(b.text());
}

// Before a client of 2026-07-28 is asked, which ends this request but not the call. False: there is
// no room for it to wait.
bool relay::park() {
    request_state& r = request_state::of(ctx_);
    if (!r.modern() || r.run != nullptr) {
        return true;
    }
    if (!parked_.empty()) {
        bridge_.parked().renew(parked_, r.engine.now_ms());
        return true;
    }
    parked_call overflow;
    parked_ = bridge_.parked().keep({server_, call_}, r.engine.now_ms(), overflow);
    no_room_ = parked_.empty();
    if (no_room_) {
        return false;
    }
    json::builder name;
    name.value(parked_);
    ctx_.remember(parked_key, name.text());
    if (overflow.call != nullptr) {
        bridge_.end_parked(overflow, "too many calls wait for clients");
    }
    return true;
}

void relay::cancel(const char* why) {
    if (!parked_.empty()) {
        bridge_.parked().forget(parked_);
    }
    bridge_.with(server_, [call = call_, why](server_group* at) {
        if (at != nullptr) {
            at->cancel(*call, why);
        }
    });
}

void relay::let_go() {
    if (call_ != nullptr) {
        call_->detach(arrived_);
        call_.reset();
    }
}

// "elicitation.url" of {"elicitation":{"url":{}}}.
std::string lacking_capability(json::view from) {
    std::string name;
    for (json::view at = from; at.is_object() && at.size() > 0;) {
        const json::member first = *at.members().begin();
        name.append(name.empty() ? "" : ".").append(first.key);
        at = first.value;
    }
    return name;
}

std::string call_params(std::string_view name, json::view arguments) {
    std::string params = text_member("name", name);
    if (arguments.exists()) {
        params.append(R"(,"arguments":)").append(json_text(arguments));
    }
    return params;
}

void add_link(json::view content, std::vector<std::string_view>& to) {
    const std::string_view type = content["type"].str();
    if (type == "resource_link" || type == "resource") {
        to.push_back((type == "resource" ? content["resource"] : content)["uri"].str());
    }
}

// What it names the client may read, listed or not.
void note_links(bridge& by, const bridged_name& from, context& ctx,
                const std::vector<std::string_view>& uris) {
    if (!uris.empty()) {
        const std::string owner =
            from.per_client ? owner_of(ctx) : std::string(bridge_links::everybody);
        by.links().note(from.server, owner, uris);
    }
}

}  // namespace

std::string owner_of(context& ctx) {
    request_state& r = request_state::of(ctx);
    if (r.session != nullptr) {
        return "session " + std::string(r.session->id());
    }
    if (!r.principal.empty()) {
        return "principal " + std::string(r.principal);
    }
    return {};
}

task<tool_result> call_tool(bridge& by, bridged_name what, context& ctx, json::view arguments) {
    relay one(by, what.server, ctx);
    std::string params = call_params(what.name, arguments);
    const std::optional<call_event> end = co_await one.run("tools/call", std::move(params));
    if (!end) {
        co_return ctx.error("The call was stopped");
    }
    if (end->what == call_event::kind::error) {
        if (end->code == rpc::missing_capability) {
            // It was told what the client can.
            const auto data = json::document::parse(end->data);
            const json::view lacking = data ? data->root()["requiredCapabilities"] : json::view();
            const std::string lacks = lacking_capability(lacking);
            co_return ctx.missing_capability(lacks);
        }
        co_return ctx.rpc_error(outward_code(end->code, request_state::of(ctx).rev), end->text,
                                end->data);
    }
    const auto parsed = json::document::parse(end->text);
    const json::view got = parsed ? parsed->root() : json::view();
    std::vector<std::string_view> uris;
    for (const json::view content : got["content"].elements()) {
        add_link(content, uris);
    }
    note_links(by, what, ctx, uris);
    co_return import_tool_result(ctx, got);
}

task<prompt_result> get_prompt(bridge& by, bridged_name what, context& ctx, json::view arguments) {
    relay one(by, what.server, ctx);
    std::string params = call_params(what.name, arguments);
    const std::optional<call_event> end = co_await one.run("prompts/get", std::move(params));
    if (!end || end->what == call_event::kind::error) {
        co_return ctx.prompt_error(end ? end->text : "The call was stopped");
    }
    const auto parsed = json::document::parse(end->text);
    const json::view got = parsed ? parsed->root() : json::view();
    std::vector<std::string_view> uris;
    for (const json::view message : got["messages"].elements()) {
        add_link(message["content"], uris);
    }
    note_links(by, what, ctx, uris);
    co_return import_prompt_result(ctx, got);
}

task<resource_result> read_resource(bridge& by, std::string server, context& ctx,
                                    std::string_view uri) {
    relay one(by, server, ctx);
    std::string params = text_member("uri", uri);
    const std::optional<call_event> end = co_await one.run("resources/read", std::move(params));
    if (!end || (end->what == call_event::kind::error && end->code == rpc::unavailable)) {
        co_return ctx.unavailable("The server behind this is not there");
    }
    if (end->what == call_event::kind::error) {
        // SDKs of every revision say of what is not there that the parameters are invalid.
        if (end->code == rpc::resource_not_found || end->code == rpc::invalid_params) {
            co_return ctx.not_found();
        }
        co_return ctx.unreadable(error(errc::io, end->text.c_str()));
    }
    const auto parsed = json::document::parse(end->text);
    co_return import_resource_result(ctx, parsed ? parsed->root() : json::view(), uri);
}

task<completion_result> complete(bridge& by, std::string server, std::string reference,
                                 std::string argument, context& ctx, std::string_view typed,
                                 json::view known) {
    relay one(by, server, ctx);
    std::string params = R"("ref":)" + reference + R"(,"argument":{)" +
                         text_member("name", argument) + "," + text_member("value", typed) + "}";
    if (known.is_object() && known.size() > 0) {
        params.append(R"(,"context":{"arguments":)").append(json_text(known)).append("}");
    }
    const std::optional<call_event> end =
        co_await one.run("completion/complete", std::move(params));
    if (!end || end->what == call_event::kind::error) {
        co_return ctx.completion();
    }
    const auto parsed = json::document::parse(end->text);
    co_return import_completion(ctx, parsed ? parsed->root() : json::view());
}

}  // namespace pillion::sidecar
