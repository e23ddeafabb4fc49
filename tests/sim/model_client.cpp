// The part of model_client that hears and judges.
#include "sim/model_client.hpp"

#include <algorithm>
#include <utility>

#include "base/limits.hpp"

namespace pillion::sim {

namespace {

constexpr std::size_t calls_kept = 24;

std::string text_of(json::view content) {
    return std::string(content[std::size_t{0}]["text"].str());
}

bool is_terminal(std::string_view status) {
    return status == "completed" || status == "failed" || status == "cancelled";
}

}  // namespace

model_client::model_client(server_world& in, journal& to, base::seeded_random& random,
                           const traffic& how, dialect speaks, std::string name)
    : world_(in),
      journal_(to),
      random_(random),
      how_(how),
      speaks_(speaks),
      name_(std::move(name)),
      next_ns_(in.now_ns()),
      used_ns_(in.now_ns()) {}

model_client::~model_client() = default;

void model_client::fail(const std::string& why) { throw violation(name_ + ": " + why); }

std::string_view model_client::version() const {
    switch (speaks_) {
        case dialect::sse_2024:
        case dialect::http_2024:
            return "2024-11-05";
        case dialect::http_2025_03:
            return "2025-03-26";
        case dialect::http_2025_06:
            return "2025-06-18";
        case dialect::http_2025_11:
            return "2025-11-25";
        case dialect::modern:
            break;
    }
    return "2026-07-28";
}

void model_client::later(std::uint64_t ms_max, std::function<void(model_client&)> what) {
    world_.at(static_cast<std::int64_t>(random_.below(ms_max + 1)),
              [me = weak_from_this(), run = std::move(what)] {
                  if (const auto here = me.lock()) {
                      run(*here);
                  }
              });
}

call* model_client::find(const std::string& id) {
    const auto at = calls_.find(id);
    return at == calls_.end() ? nullptr : &at->second;
}

visit* model_client::inside(const call& c) {
    const auto at = on().inside.find(c.tag);
    return c.tag.empty() || at == on().inside.end() ? nullptr : at->second;
}

// A stream may stay open for as long as it likes before its answer ends it.
bool model_client::is_read(const std::string& id) const {
    return std::any_of(wires_.begin(), wires_.end(), [&id](const auto& w) {
        return std::any_of(w->pending().begin(), w->pending().end(),
                           [&id](const exchange& e) { return e.id == id; });
    });
}

std::size_t model_client::standing_streams() const {
    std::size_t all = 0;
    for (const auto& w : wires_) {
        all += static_cast<std::size_t>(
            std::count_if(w->pending().begin(), w->pending().end(),
                          [](const exchange& e) { return e.what == exchange::kind::stands; }));
    }
    return all;
}

void model_client::observe() {
    for (std::size_t i = 0; i < wires_.size(); ++i) {
        wires_[i]->observe();
    }
    std::erase_if(wires_, [](const auto& w) { return w->gone(); });
    // Calls that are over are forgotten, but not at once: a second answer must be seen.
    while (calls_.size() > calls_kept) {
        const auto over = std::find_if(calls_.begin(), calls_.end(), [this](const auto& c) {
            constexpr std::int64_t a_while_ns = 60'000'000'000;
            return c.second.answered ||
                   (!c.second.owed && world_.now_ns() - c.second.sent_ns > a_while_ns &&
                    !is_read(c.first));
        });
        if (over == calls_.end()) {
            break;
        }
        calls_.erase(over);
    }
}

void model_client::check_quiet() {
    for (const auto& w : wires_) {
        w->check_quiet();
        if (!w->owed()) {
            continue;
        }
        const exchange& e = w->pending().front();
        const call* c = find(e.id);
        if (e.at_once && e.status == 0) {
            fail(w->name() + ": no answer to " +
                 (c != nullptr ? c->id + " " + c->method : "a note"));
        }
        if (c != nullptr && e.what == exchange::kind::call && c->forbidden) {
            fail(w->name() + ": the reply to cancelled " + c->id + " does not end");
        }
    }
    for (auto& [id, c] : calls_) {
        visit* const v = c.acknowledged && !c.answered ? inside(c) : nullptr;
        if (v != nullptr && !v->of().is_task() && !ended_session_) {
            if (v->of().why_stopped() == stop_cause::none) {
                fail("the cancellation of " + id + " was forgotten");
            }
            c.forbidden = c.forbidden || v->of().why_stopped() == stop_cause::client;
        }
        if (is_modern() && c.lost && inside(c) != nullptr && !inside(c)->of().stopped() &&
            !inside(c)->of().is_task()) {
            fail("the client of " + id + " is gone and its handler was not told");
        }
    }
    const bool reads = std::any_of(wires_.begin(), wires_.end(), [](const auto& w) {
        return w->owed() && w->pending().front().what == exchange::kind::stands;
    });
    if (listens_ && reads && wants_news_) {
        fail("a listener has not heard of a change");
    }
}

void model_client::published() { wants_news_ = listens_; }

// ---- messages ----

void model_client::on_event(wire& on, exchange& of, const stream_event& event) {
    if (event.name == "endpoint") {
        endpoint_ = event.data;
        return handshake();
    }
    call* const c = find(of.id);
    if (c != nullptr && !event.id.empty()) {
        learn_event_id(*c, event.id);
    }
    if (event.has_data && !event.data.empty()) {
        const bool many = of.what == exchange::kind::batch && event.data.front() == '[';
        many ? take_messages(on, of, event.data) : take_message(on, of, event.data);
    }
}

// Answers to a batch may come together.
void model_client::take_messages(wire& on, exchange& of, const std::string& text) {
    const parsed all(text);
    if (!all.good() || !all.root().is_array()) {
        fail("a batch was answered with " + text.substr(0, 200));
    }
    for (const json::view one : all.root().elements()) {
        base::chunk_pool scratch;
        base::byte_buffer part(scratch);
        json::writer(part).value(one);
        take_message(on, of, std::string(part.view()));
    }
}

// "7-3": the third of stream 7. Nothing is missing, nothing comes twice.
void model_client::learn_event_id(call& c, const std::string& id) {
    const auto parts = [](const std::string& text) {
        const std::size_t dash = text.find('-');
        return std::pair(text.substr(0, dash), std::stoull(text.substr(dash + 1)));
    };
    const auto now = parts(id);
    if (c.event_id.empty()) {
        if (now.second > 1) {
            fail("the stream of " + c.id + " begins with event " + id);
        }
    } else {
        const auto before = parts(c.event_id);
        if (now.first != before.first ||
            (now.second != before.second + 1 && now.second != before.second)) {
            fail("the stream of " + c.id + " went from event " + c.event_id + " to " + id);
        }
    }
    c.event_id = id;
}

void model_client::take_message(wire& on, exchange& of, const std::string& text) {
    const parsed m(text);
    if (!m.good() || m["jsonrpc"].str() != "2.0") {
        fail("no JSON-RPC message: " + text.substr(0, 200));
    }
    if (m["method"].exists()) {
        if (m["result"].exists() || m["error"].exists()) {
            fail("a message that is two kinds at once: " + text.substr(0, 200));
        }
        if (!m["id"].exists()) {
            return take_notification(of, m);
        }
        if (is_modern()) {
            fail("a request from the server: " + text.substr(0, 200));
        }
        return answer_question(m);
    }
    if (m["result"].exists() == m["error"].exists()) {
        fail("an answer must be a result or an error: " + text.substr(0, 200));
    }
    call* const c = find(m.id());
    if (c == nullptr) {
        // What was bent may go through all the same, on a stream of its session.
        if (of.what == exchange::kind::bent || of.what == exchange::kind::batch || garbled_) {
            return;
        }
        // Time jumped: refused unread, by its head.
        if (how_.leaps && of.what == exchange::kind::call && of.status == 503 &&
            m.code() == -32006 && !m["id"].exists()) {
            return;
        }
        fail(on.name() + ": an answer to nothing that was asked: " + text.substr(0, 200));
    }
    const bool mine = of.what == exchange::kind::batch || is_sse() || of.id == c->id;
    if (!mine) {
        fail(on.name() + ": the answer to " + c->id + " in the place of that to " + of.id);
    }
    take_answer(*c, m);
}

void model_client::take_answer(call& c, const parsed& m) {
    if (c.answered) {
        fail("a second answer to " + c.id);
    }
    if (c.forbidden) {
        fail("an answer to " + c.id + ", whose cancellation was acknowledged");
    }
    c.answered = true;
    ++answers_;
    if (m["error"].exists()) {
        check_error(c, m);
    } else {
        check_result(c, m);
    }
}

void model_client::check_error(const call& c, const parsed& m) {
    const int code = m.code();
    const bool excused =
        c.cancelled || ended_session_ || state_ == state::dead || world_.draining() || leaving_;
    if (!m["error"]["message"].is_string() || code == 0) {
        fail("a malformed error: " + m.raw().substr(0, 200));
    }
    if (m.raw().find("secret") != std::string::npos) {
        fail("an error tells what a handler threw");
    }
    if (c.method.starts_with("tasks/")) {
        return check_task(c, m);
    }
    // What lets others run first may find its time over when that has leapt.
    if (c.at_once && !excused && !(how_.leaps && code == -32004)) {
        fail(c.id + " " + c.method + " failed: " + m.raw().substr(0, 300));
    }
    // Timed out, not found and bad parameters, internal, invalid requests (ended sessions),
    // unavailable.
    for (const int known : {-32004, -32602, -32603, -32600, -32601, -32006, -32021, -32002}) {
        if (code == known) {
            return;
        }
    }
    fail("an unexpected error: " + m.raw().substr(0, 300));
}

void model_client::check_result(call& c, const parsed& m) {
    const json::view result = m["result"];
    const std::string_view type = result["resultType"].str();
    if (is_modern() != !type.empty()) {
        fail("resultType does not fit the revision: " + m.raw().substr(0, 200));
    }
    if (type == "input_required") {
        return next_round(c, m);
    }
    if (type == "task" || (!is_modern() && result["task"].is_object())) {
        return note_task(c, type == "task" ? result : result["task"]);
    }
    if (c.method == "initialize") {
        if (result["protocolVersion"].str() != version()) {
            fail("another revision: " + m.raw().substr(0, 200));
        }
        state_ = state::ready;
        later(0, [](model_client& me) { me.notify("notifications/initialized", ""); });
        return;
    }
    if (c.method.starts_with("tasks/")) {
        return check_task(c, m);
    }
    if (c.method == "tools/call" && !result["isError"].boolean() &&
        !text_of(result["content"]).starts_with(c.tag)) {
        fail("the answer to " + c.id + " is not its own: " + m.raw().substr(0, 200));
    }
    if (c.method == "prompts/get" &&
        result["messages"][std::size_t{0}]["content"]["text"].str() != c.tag) {
        fail("the prompt of " + c.id + " is not its own: " + m.raw().substr(0, 200));
    }
}

void model_client::take_notification(exchange& of, const parsed& m) {
    const std::string_view method = m["method"].str();
    const json::view params = m["params"];
    if (method.ends_with("_changed") || method.ends_with("/updated")) {
        const json::view tag = params["_meta"]["io.modelcontextprotocol/subscriptionId"];
        if (is_modern() && (of.what != exchange::kind::stands || !tag.exists())) {
            fail("a change on no listen stream: " + m.raw().substr(0, 200));
        }
        wants_news_ = wants_news_ && method != "notifications/tools/list_changed";
        return;
    }
    if (method == "notifications/subscriptions/acknowledged") {
        listens_ = true;
        wants_news_ = false;
        return;
    }
    if (method == "notifications/progress") {
        return take_progress(of, m);
    }
    if (method != "notifications/message" && method != "notifications/cancelled" &&
        !method.starts_with("notifications/tasks") &&
        method != "notifications/elicitation/complete") {
        fail("an unknown notification: " + m.raw().substr(0, 200));
    }
}

void model_client::take_progress(exchange& of, const parsed& m) {
    const json::view params = m["params"];
    const std::string token(params["progressToken"].str());
    const auto c = std::find_if(calls_.begin(), calls_.end(), [&](const auto& one) {
        return one.second.method == "tools/call" && one.second.tag == token;
    });
    const double value = params["progress"].num();
    const bool of_task = params["_meta"]["io.modelcontextprotocol/related-task"].exists();
    if (c == calls_.end() && of_task) {
        return;  // of a task whose call is long forgotten
    }
    if (c == calls_.end()) {
        fail("progress of nothing: " + m.raw().substr(0, 200));
    }
    call& whose = c->second;
    if (of_task) {
        // Several streams may wait for one task: each says what the others do not, and in its
        // order, but who reads one of them late hears of that late.
        double& last = of.task_progress.try_emplace(token, -1).first->second;
        if (value <= last || !whose.task_progress.insert(value).second) {
            fail("no progress of a task: " + m.raw().substr(0, 200));
        }
        last = value;
        return;
    }
    if (value <= whose.progress) {
        fail("no progress: " + m.raw().substr(0, 200));
    }
    if (whose.answered && whose.rounds == 0) {
        fail("progress behind the answer: " + m.raw().substr(0, 200));
    }
    whose.progress = value;
}

// ---- tasks ----

void model_client::note_task(const call& c, json::view made) {
    client_task t;
    t.id = made["taskId"].str();
    t.tag = c.tag;
    t.sent_ns = c.sent_ns;
    if (t.id.empty() || !made["status"].is_string() || !made["createdAt"].is_string()) {
        fail("a malformed task for " + c.id);
    }
    tasks_.push_back(t);
    if (tasks_.size() > 16) {
        tasks_.erase(tasks_.begin());
    }
}

void model_client::check_task(const call& c, const parsed& m) {
    constexpr std::int64_t ttl_ns = 20'000'000'000;
    const auto t = std::find_if(tasks_.begin(), tasks_.end(),
                                [&](const client_task& one) { return one.tag == c.tag; });
    if (t == tasks_.end()) {
        return;
    }
    const json::view status = m["result"]["status"];
    if (m["error"].exists()) {
        if (c.method == "tasks/get" && !ended_session_ && state_ != state::dead &&
            !world_.draining() && world_.now_ns() < t->sent_ns + ttl_ns) {
            fail("task " + t->id + " is not found before its time");
        }
        return;
    }
    if (c.method == "tasks/get" && !status.is_string()) {
        fail("a task without a status: " + m.raw().substr(0, 200));
    }
    // Answers on several connections overtake each other: what was asked afterwards counts.
    if (status.is_string() && !t->end.empty() && status.str() != t->end &&
        c.sent_ns > t->ended_ns) {
        fail("task " + t->id + " was " + t->end + " and is " + std::string(status.str()));
    }
    if (status.is_string() && is_terminal(status.str())) {
        t->end = status.str();
        t->ended_ns = world_.now_ns();
    }
    const json::view outcome = is_modern() ? m["result"]["result"] : m["result"];
    if (outcome["content"].exists() && !outcome["isError"].boolean() &&
        !text_of(outcome["content"]).starts_with(t->tag)) {
        fail("the result of task " + t->id + " is not its own: " + m.raw().substr(0, 200));
    }
}

// ---- replies and endings ----

void model_client::on_reply(wire& on, exchange& of, const reply_head& head,
                            const std::string& body) {
    if (of.what == exchange::kind::bent) {
        return;
    }
    if (!is_modern()) {
        if (const std::string_view id = head.get("mcp-session-id"); !id.empty()) {
            session_ = id;
        }
        if (head.status == 404) {
            session_lost(of);
        }
    }
    if (of.what == exchange::kind::farewell) {
        ended_session_ = true;
        return;
    }
    if (!of.cancels.empty() && head.status == 202) {
        if (call* const c = find(of.cancels)) {
            c->acknowledged = c->begun;
        }
    }
    if (head.streamed()) {
        return stream_ended(on, of);
    }
    // Time jumped while it was sent; or refused, which is honest when the events are gone.
    if (head.status == 408 || of.what == exchange::kind::resume) {
        return give_up(of.id);
    }
    if (of.what == exchange::kind::stands && of.id.empty() && head.status == 429) {
        // Refused for their number. Those just left may still count, and then there are many.
        if (standing_streams() < limits::session_streams_max / 2) {
            fail("too many streams, and there are few");
        }
        return lose_stream();
    }
    if (of.what == exchange::kind::batch && head.status == 200) {
        take_messages(on, of, body);
    } else if (!body.empty() && head.status != 404) {
        take_message(on, of, body);
    }
    if (call* const c = find(of.id); c != nullptr && !c->answered && head.status != 202) {
        if (head.status != 404 && head.status != 503) {
            fail("a reply without the answer to " + c->id);
        }
        give_up(of.id);
    }
    if (state_ == state::greeting && of.what == exchange::kind::call) {
        state_ = state::dead;  // it went wrong
    }
}

}  // namespace pillion::sim
