#include "mcp/task_run.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/utf8.hpp"
#include "json/parser.hpp"
#include "mcp/engine.hpp"
#include "mcp/limit_guard.hpp"
#include "mcp/task_desk.hpp"
#include "mcp/task_replies.hpp"

namespace pillion::mcp {

void write_related_task(request& r, json::writer& w) {
    if (r.run != nullptr && !r.modern()) {
        w.key_raw(R"("_meta":{"io.modelcontextprotocol/related-task":{"taskId":)");
        w.string(r.run->id());
        w.fragment("}}");
    }
}

void task_run::change(base::function_ref<bool(task_record&)> edit) noexcept {
    engine& on = request_.engine;
    on.shared().change_task(id_, on.loop().unix_ms(), edit);
}

bool task_run::notify(request& r, base::byte_buffer message) noexcept {
    // 2026-07-28 has neither progress nor log messages for tasks (REVISIONS §13).
    if (!r.modern() && !callers_.empty()) {
        const desk_caller& to = callers_.back();
        r.engine.shared().post_to(
            to.shard, [number = to.number, text = std::string(message.view())](engine& e) {
                e.tasks().pass_on(number, text);
            });
    }
    return true;
}

void task_run::reply(request& r, base::byte_buffer message,
                     std::uint16_t /*http_status*/) noexcept {
    says_.cancel();
    const std::string_view said = outcome_of(r, message.view());
    const bool is_error = said.starts_with(R"("error")");
    // A result that is an error of the tool: opposite in the two dialects (AMBIGUITIES §2.20).
    const bool is_failure = is_error || (!r.modern() && r.outcome == outcome("tool_error"));
    std::string why;
    if (is_error) {
        base::byte_buffer text(r.memory.pool());
        text.append("{");
        text.append(said);
        text.append("}");
        why = r.parse(text.view())["error"]["message"].str();
    } else if (is_failure) {
        why = "The tool reported an error";
    }
    auto finish = [&](task_record& t) {
        t.status = is_failure ? task_status::failed : task_status::completed;
        t.outcome = said;
        t.questions.clear();
        t.message = is_failure ? why : unsaid_.empty() ? t.message : unsaid_;
        return true;
    };
    change(finish);
}

void task_run::say(std::string_view text) noexcept {
    const std::size_t whole = std::min(text.size(), limits::task_message_bytes_max);
    unsaid_ = text.substr(0, base::utf8::valid_prefix(text.substr(0, whole)));
    io::reactor& loop = request_.engine.loop();
    constexpr std::int64_t pause_ns = limits::task_message_ms * 1'000'000;
    if (said_ns_ == INT64_MIN || loop.now_ns() - said_ns_ >= pause_ns) {
        return on_say(says_, this);
    }
    if (!says_.armed()) {
        loop.timers().arm(says_, said_ns_ + pause_ns);
    }
}

void task_run::on_say(io::timer& /*self*/, void* owner) noexcept {
    auto& me = *static_cast<task_run*>(owner);
    me.said_ns_ = me.request_.engine.loop().now_ns();
    auto say = [&me](task_record& t) {
        t.message = me.unsaid_;
        return true;
    };
    me.change(say);
}

// Keys are never used twice in a task's life: an answer always means the question it was given to.
std::string task_run::unused_key(std::string_view wanted) {
    const auto used = [this](const std::string& key) {
        return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
    };
    std::string key(wanted.empty() ? "q1" : wanted);
    for (std::size_t n = 2; used(key); ++n) {
        key = wanted.empty() ? "q" + std::to_string(n)
                             : std::string(wanted) + "-" + std::to_string(n);
    }
    keys_.push_back(key);
    return key;
}

void task_run::put_question(std::string_view key, std::string_view method,
                            std::string_view params) {
    base::byte_buffer text(request_.memory.pool());
    if (!method.empty()) {
        json::writer w(text);
        w.begin_object();
        w.key_raw(R"("method":)");
        w.string(method);
        w.key_raw(R"("params":)");
        w.raw(params.empty() ? std::string_view("{}") : params);
        w.end_object();
    }
    auto ask = [&](task_record& t) {
        t.status = task_status::input_required;
        t.questions.push_back({std::string(key), std::string(text.view())});
        return true;
    };
    change(ask);
}

void task_run::drop_question(std::string_view key) noexcept {
    auto drop = [key](task_record& t) {
        if (std::erase_if(t.questions, [key](const auto& one) { return one.key == key; }) == 0) {
            return false;
        }
        if (t.questions.empty()) {
            t.status = task_status::working;
        }
        return true;
    };
    change(drop);
}

task<result<json::view>> task_run::ask(const asking& what) {
    engine& e = request_.engine;
    if (!base::utf8::validate(what.key)) {
        co_return error(errc::invalid, "The key is not UTF-8");
    }
    while (true) {
        if (what.stop->requested()) {
            co_return error(errc::cancelled, "The request was stopped");
        }
        if (e.draining()) {
            co_return error(errc::closed, "The server is shutting down");
        }
        pending one;
        one.key = unused_key(what.key);
        pending_.push_back(one);
        put_question(one.key, what.method, what.params);
        e.pause_deadline(request_);
        limit_guard limit(e.loop(), what.limit_ms, one.answered);
        co_await one.answered.wait(what.stop);
        one.unlink();
        e.resume_deadline(request_);
        // An answer that cannot be used is asked for again, under a key of its own.
        if (one.answer.exists()) {
            if (what.fits(one.answer)) {
                co_return one.answer;
            }
            continue;
        }
        drop_question(one.key);
        if (one.gone) {
            co_return error(errc::closed, "The client is gone");
        }
        if (limit.passed()) {
            co_return error(errc::timed_out, "The client did not answer in time");
        }
        co_return error(errc::cancelled, "The request was stopped");
    }
}

void task_run::take_answers(
    const std::vector<std::pair<std::string, std::string>>& answers) noexcept {
    for (const auto& [key, text] : answers) {
        for (pending& one : pending_) {
            if (one.key == key && !one.answer.exists()) {
                one.answer = request_.parse(text);
                one.answered.set();
            }
        }
    }
}

void task_run::give_up_questions() noexcept {
    for (pending& one : pending_) {
        one.gone = true;
        one.answered.set();
    }
}

void task_run::open(client_call& call, std::string_view message) noexcept {
    sent_.push_back({&call, std::string(message)});
    put_question(call.id(), {}, {});
    deliver(sent_.back());
}

void task_run::close(client_call& call) noexcept {
    std::erase_if(sent_, [&call](const sent_question& one) { return one.call == &call; });
    drop_question(call.id());
}

// To the newest caller; one question is never on two streams at a time.
void task_run::deliver(sent_question& one) noexcept {
    if (callers_.empty() || one.under_way) {
        return;
    }
    const desk_caller& to = callers_.back();
    one.under_way = true;
    one.shard = to.shard;
    one.number = to.number;
    one.call->ask_in(to.session);
    request_.engine.shared().post_to(to.shard, [number = to.number, text = one.message](engine& e) {
        e.tasks().pass_on(number, text);
    });
}

void task_run::attach(desk_caller caller) {
    for (const desk_caller& one : callers_) {
        request_.engine.shared().post_to(
            one.shard, [number = one.number](engine& e) { e.tasks().give_way(number); });
    }
    callers_.push_back(std::move(caller));
    for (sent_question& one : sent_) {
        deliver(one);
    }
}

void task_run::detach(std::size_t shard, std::uint64_t number) noexcept {
    std::erase_if(callers_, [&](const desk_caller& one) {
        return one.shard == shard && one.number == number;
    });
    for (sent_question& one : sent_) {
        if (one.under_way && one.shard == shard && one.number == number) {
            one.under_way = false;
            deliver(one);
        }
    }
}

void task_run::cancelled() noexcept {
    says_.cancel();
    request_.outcome = "cancelled";
    request_.engine.stop(request_, coro::stop_reason::client_cancelled);
}

}  // namespace pillion::mcp
