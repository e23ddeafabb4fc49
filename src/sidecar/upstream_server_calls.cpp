// The calls of an upstream_server, and what its server says and asks in them.
#include <algorithm>
#include <atomic>
#include <utility>

#include "mcp/replies.hpp"
#include "rpc/errors.hpp"
#include "sidecar/upstream_server.hpp"

namespace pillion::sidecar {

namespace {

// Calls that wait for the next session of a server that has forgotten the last one, or for the
// first of one that is for their client alone.
constexpr std::size_t waiting_max = 256;

call_event error_event(int code, std::string message, std::string data = {}) {
    call_event e;
    e.what = call_event::kind::error;
    e.code = code;
    e.text = std::move(message);
    e.data = std::move(data);
    return e;
}

}  // namespace

void upstream_server::begin(const std::shared_ptr<bridged_call>& call) {
    be_used();
    want_level(*call);
    const bool is_starting = first_ != nullptr && link_ != nullptr && !up();
    if ((anew_ || is_starting) && waiting_.size() < waiting_max) {
        waiting_.push_back(call);
        return;
    }
    if (!up()) {
        call->push(error_event(rpc::unavailable, "The server " + spec_.name + " is not running"));
        return;
    }
    tell_of_roots(*call);
    const std::uint64_t number = peer_.next();
    std::string params = "{" + call->asked().params;
    params.append(call->asked().params.empty() ? "" : ",")
        .append(meta(call.get(), number))
        .append("}");
    call->number = number;
    calls_.emplace(number, call);
    peer_.ask(call->asked().method, params,
              [this, call](const rpc_answer& what) { take_answer(call, what); });
}

// With the client's next call: what the server asks then can be put to the client.
void upstream_server::tell_of_roots(const bridged_call& call) {
    if (first_ == nullptr || modern_ || call.asked().roots_changes == roots_changes_) {
        return;
    }
    roots_changes_ = call.asked().roots_changes;
    peer_.notify("notifications/roots/list_changed", {});
}

void upstream_server::take_answer(const std::shared_ptr<bridged_call>& call,
                                  const rpc_answer& what) {
    be_used();
    calls_.erase(call->number);
    if (what.lost) {
        call->push(error_event(rpc::unavailable,
                               "The server " + spec_.name + " went away during the call"));
        return;
    }
    if (what.result.exists()) {
        call_event done;
        done.what = call_event::kind::result;
        done.text = json_text(what.result);
        call->push(std::move(done));
        return;
    }
    const json::view data = what.error["data"];
    call->push(error_event(static_cast<int>(what.error["code"].i64().value_or(rpc::internal_error)),
                           std::string(what.error["message"].str("The server gave no reason")),
                           data.exists() ? json_text(data) : ""));
}

void upstream_server::go_on_with_calls() {
    anew_ = false;
    for (const auto& call : std::exchange(waiting_, {})) {
        begin(call);
    }
}

void upstream_server::refuse_waiting() {
    anew_ = false;
    for (const auto& call : std::exchange(waiting_, {})) {
        call->push(error_event(rpc::unavailable, "The server " + spec_.name + " is not running"));
    }
}

void upstream_server::on_session_lost(std::uint64_t number) {
    // One that cannot even be listed is begun anew later and later.
    if (!up()) {
        return;
    }
    anew_ = true;
    const auto found = calls_.find(number);
    if (found != calls_.end() && !std::exchange(found->second->was_refused, true)) {
        peer_.forget(number);
        found->second->number = 0;
        waiting_.push_back(std::move(found->second));
        calls_.erase(found);
    }
}

void upstream_server::cancel(bridged_call& call, std::string_view reason) {
    be_used();
    std::erase_if(waiting_, [&call](const auto& one) { return one.get() == &call; });
    const auto found = calls_.find(call.number);
    if (found == calls_.end() || found->second.get() != &call) {
        return;
    }
    json::builder b;
    b.begin_object().member("requestId", call.number).member("reason", reason);
    b.end_object();
    std::string params(b.text());
    if (modern_) {
        // A link over HTTP knows it by that: there the end of its connection cancels a request.
        params.pop_back();
        params.append(",").append(meta(nullptr, 0)).append("}");
    }
    peer_.forget(call.number);
    calls_.erase(found);
    if (up()) {
        peer_.notify("notifications/cancelled", params);
    }
}

void upstream_server::answer(std::uint64_t number, std::string_view result_json) {
    const std::string id = take_question(number);
    if (!id.empty()) {
        peer_.answer(id, result_json);
    }
}

void upstream_server::refuse(std::uint64_t number, int code, std::string_view message) {
    const std::string id = take_question(number);
    if (!id.empty()) {
        peer_.refuse(id, code, message);
    }
}

// Who asks by an id again has forgotten the question before, as one does that was started again
// behind its URL. One whose call has gone cannot be answered.
std::uint64_t upstream_server::note_question(const std::string& id,
                                             const std::shared_ptr<bridged_call>& call) {
    // One count for all servers: who was asked by one cannot answer another of its name.
    static std::atomic<std::uint64_t> last{0};
    std::erase_if(questions_, [&id](const auto& one) {
        return one.second.id == id || one.second.call.expired();
    });
    const std::uint64_t number = ++last;
    questions_[number] = {id, call};
    return number;
}

// The id of that request; empty: nobody waits for an answer to it.
std::string upstream_server::take_question(std::uint64_t number) {
    const auto found = questions_.find(number);
    if (found == questions_.end()) {
        return {};
    }
    std::string id = std::move(found->second.id);
    questions_.erase(found);
    return id;
}

void upstream_server::on_notification(std::string_view method, json::view params) {
    if (method == "notifications/progress") {
        return on_progress(params);
    }
    if (method == "notifications/message") {
        return on_log(params);
    }
    if (method == "notifications/resources/updated") {
        return listener_.on_resource_updated(*this, params["uri"].str());
    }
    list_again_after(method);
}

void upstream_server::on_progress(json::view params) {
    const auto found = calls_.find(params["progressToken"].u64().value_or(0));
    if (found == calls_.end()) {
        return;
    }
    call_event e;
    e.what = call_event::kind::progress;
    e.done = params["progress"].num();
    e.total = params["total"].num();
    e.text = params["message"].str();
    found->second->push(std::move(e));
}

// A client's own server has its level. One that many share has the lowest that any of them has
// wanted so far: callers of different levels may take turns.
void upstream_server::want_level(const bridged_call& call) {
    auto wanted = log_level::info;
    if (!mcp::parse_level(call.asked().log_level, wanted) || wanted == log_level_ ||
        (first_ == nullptr && wanted > log_level_)) {
        return;
    }
    log_level_ = wanted;
    if (has_levels_) {
        send_level();
    }
}

void upstream_server::send_level() {
    json::builder b;
    b.begin_object().member("level", mcp::level_name(log_level_)).end_object();
    peer_.ask("logging/setLevel", b.text(), [](const rpc_answer&) {});
}

void upstream_server::on_log(json::view params) {
    const auto call = asked();
    if (call == nullptr) {
        return;
    }
    auto level = log_level::info;
    auto wanted = log_level::info;
    mcp::parse_level(params["level"].str(), level);
    mcp::parse_level(call->asked().log_level, wanted);
    if (level < log_level::info && level < wanted) {
        return;  // others wanted it, and it would take the place of what this one wants
    }
    call_event e;
    e.what = call_event::kind::log;
    e.text = json_text(params);
    call->push(std::move(e));
}

// It does not say for which call it asks. What one client's server wants to know no other client
// may be asked, and where several are waiting nobody can tell whose it is.
std::shared_ptr<bridged_call> upstream_server::asked() const {
    if (calls_.empty()) {
        return nullptr;
    }
    const std::shared_ptr<bridged_call>& newest_call = calls_.rbegin()->second;
    const bool one_owner =
        calls_.size() == 1 || std::all_of(calls_.begin(), calls_.end(), [&](const auto& one) {
            // Who has no name is nobody else.
            const std::string& owner = one.second->asked().owner;
            return !owner.empty() && owner == newest_call->asked().owner;
        });
    return one_owner ? newest_call : nullptr;
}

void upstream_server::on_request(std::string id_json, std::string_view method, json::view params) {
    if (method == "ping") {
        return peer_.answer(id_json, "{}");
    }
    const bool known = method == "elicitation/create" || method == "sampling/createMessage" ||
                       method == "roots/list";
    if (!known) {
        return peer_.refuse(id_json, rpc::method_not_found, "Method not found");
    }
    const auto call = asked();
    if (call == nullptr) {
        return peer_.refuse(id_json, rpc::internal_error,
                            calls_.empty() ? "No client is waiting for an answer"
                                           : "Several clients are waiting for answers");
    }
    call_event e;
    e.what = call_event::kind::question;
    e.method = method;
    e.id = std::move(id_json);
    e.text = params.exists() ? json_text(params) : "{}";
    const std::uint64_t number = note_question(e.id, call);
    e.asked = number;
    if (!call->push(std::move(e))) {
        refuse(number, rpc::internal_error, "The client has not answered what it was asked before");
    }
}

}  // namespace pillion::sidecar
