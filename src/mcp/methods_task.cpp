// Tasks: which calls become one, and tasks/get, list, result, update and cancel in both dialects
// (methods of mcp/engine.hpp; REVISIONS §12, §13).
#include "coro/sync.hpp"
#include "json/writer.hpp"
#include "mcp/cursor.hpp"
#include "mcp/engine.hpp"
#include "mcp/modern_checks.hpp"
#include "mcp/task_desk.hpp"
#include "mcp/task_replies.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

bool refusal(fault& why, int code, safe_text message, std::string_view data = {},
             std::uint16_t http_status = 200) {
    why.code = code;
    why.message = message;
    why.data_json = data;
    why.http_status = http_status;
    return false;
}

bool unknown_task(fault& why) {
    return refusal(why, rpc::invalid_params, "Unknown or expired task",
                   R"({"field":"taskId","reason":"not_found"})");
}

// The task that a request names, if its sender may know of it.
task_ref named_task(engine& e, request& r, fault& why) {
    if (r.modern() && !knows_tasks(r)) {
        missing_tasks(why);
        return nullptr;
    }
    const json::view id = r.params["taskId"];
    if (!id.is_string()) {
        refusal(why, rpc::invalid_params, "taskId is required",
                R"({"field":"taskId","reason":"required"})");
        return nullptr;
    }
    r.target = id.str();
    task_ref found = e.shared().tasks().find(r.target, e.loop().unix_ms());
    // Another principal's task does not exist for this one, nor does one of the other dialect.
    if (found == nullptr || found->owner != r.principal || is_modern(found->rev) != r.modern()) {
        unknown_task(why);
        return nullptr;
    }
    return found;
}

// A tasks/result that waits for the end of its task, and carries what the task wants meanwhile.
class result_call final : public task_watcher, public desk_call {
 public:
    result_call(engine& e, request& r, std::size_t runs_on)
        : engine_(e), request_(r), at_(runs_on), looks_again_(&on_look, this) {
        e.tasks().watch(r.target, *this);
        number_ = e.tasks().add_call(*this);
        const desk_caller me{e.shard(), number_, r.session};
        e.shared().post_to(
            at_, [id = std::string(r.target), me](engine& on) { on.tasks().attach(id, me); });
    }
    result_call(const result_call&) = delete;
    result_call& operator=(const result_call&) = delete;
    ~result_call() {
        engine_.tasks().remove_call(number_);
        engine_.tasks().unwatch(request_.target, *this);
        engine_.shared().post_to(
            at_, [id = std::string(request_.target), shard = engine_.shard(),
                  number = number_](engine& on) { on.tasks().detach(id, shard, number); });
    }

    void on_task(const task_ref& now) noexcept override {
        if (now == nullptr || is_terminal(now->status)) {
            ended_.set();
        }
    }
    void on_task_message(std::string_view message) noexcept override {
        if (request_.channel != nullptr && !request_.replied) {
            base::byte_buffer out = request_.new_message();
            out.append(message);
            request_.channel->notify(request_, std::move(out));
        }
    }
    // A stream that has lost its connection may be come back to; who asks anew does not mean to,
    // and what was asked on it would be lost.
    void on_newer_call() noexcept override {
        reply_channel* const way = request_.channel;
        if (way != nullptr && !way->is_heard()) {
            engine_.disconnected(request_);
            way->drop(request_);
        } else if (way != nullptr) {
            // Its end may be on its way: the client hung up before it asked anew.
            constexpr std::int64_t pause_ns = limits::overtaken_look_ms * 1'000'000;
            engine_.loop().timers().arm(looks_again_, engine_.loop().now_ns() + pause_ns);
        }
    }
    coro::event& ended() noexcept { return ended_; }

 private:
    static void on_look(io::timer& /*self*/, void* owner) noexcept {
        static_cast<result_call*>(owner)->on_newer_call();
    }

    engine& engine_;
    request& request_;
    const std::size_t at_;
    io::timer looks_again_;  // whether it is heard still, after a newer call
    std::uint64_t number_ = 0;
    coro::event ended_;
};

void answer_with_outcome(engine& e, request& r, const task_ref& now) {
    fault why;
    if (now == nullptr) {
        unknown_task(why);
    } else if (now->outcome.empty()) {
        refusal(why, rpc::invalid_params, "The task was cancelled: it has no result",
                R"({"field":"taskId","reason":"cancelled"})");
    } else {
        return e.reply(r, task_outcome_reply(r, *now));
    }
    e.reply_error(r, why);
}

task<> wait_for_result(engine& e, request& r, std::size_t runs_on) {
    {
        result_call waiting(e, r, runs_on);
        // It may have ended before anybody watched.
        const task_ref now = e.shared().tasks().find(r.target, e.loop().unix_ms());
        if (now != nullptr && !is_terminal(now->status)) {
            co_await waiting.ended().wait(&r.stop);
        }
    }
    if (!r.replied) {
        answer_with_outcome(e, r, e.shared().tasks().find(r.target, e.loop().unix_ms()));
    }
    e.finish(r);
}

}  // namespace

bool knows_tasks(const request& r) noexcept {
    return r.client_capabilities["extensions"][tasks_extension].is_object();
}

bool missing_tasks(fault& why) noexcept {
    return refusal(
        why, rpc::missing_capability, "Missing required client capability",
        R"({"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}})", 400);
}

bool engine::choose_task(request& r, fault& why) {
    using support = task_support;
    const auto& terms = r.tool->definition->terms;
    const bool possible = terms.support != support::forbidden;
    if (r.modern()) {
        if (possible && knows_tasks(r)) {
            r.as_task = request::task_mode::wanted;
            return true;
        }
        return terms.support != support::required || missing_tasks(why);
    }
    if (!has_task_param(r.rev)) {
        return terms.support != support::required;
    }
    const json::view wish = r.params["task"];
    if (!wish.exists() || wish.is_null()) {
        return terms.support != support::required ||
               refusal(why, rpc::method_not_found, "This tool runs as a task only");
    }
    const json::view ttl = wish["ttl"];
    if (!wish.is_object() || (ttl.exists() && !ttl.is_null() && ttl.i64().value_or(-1) < 0)) {
        return refusal(why, rpc::invalid_params, "task must be an object, its ttl milliseconds",
                       R"({"field":"task","reason":"type"})");
    }
    if (!possible) {
        return refusal(why, rpc::method_not_found, "This tool cannot run as a task");
    }
    // The client has asked for it: its answer is the task, whatever the handler does.
    return tasks_.begin(r, why);
}

void engine::method_tasks_get(request& r) {
    fault why;
    const task_ref found = named_task(*this, r, why);
    return found == nullptr ? reply_error(r, why) : reply(r, task_reply(r, *found));
}

void engine::method_tasks_list(request& r) {
    position at{list_kind::tasks, 0, {}};
    const json::view cursor = r.params["cursor"];
    if (cursor.exists()) {
        const auto decoded = decode_cursor(cursor.str(), r.memory);
        if (!decoded || decoded->kind != list_kind::tasks) {
            fault why;
            refusal(why, rpc::invalid_params, "Unknown cursor",
                    R"({"field":"cursor","reason":"invalid"})");
            return reply_error(r, why);
        }
        at = *decoded;
    }
    const std::size_t page = r.registered().page_size();
    const auto found = shared_.tasks().list(r.session->id(), at.number, page + 1, loop_.unix_ms());
    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    w.key_raw(R"("tasks":)");
    w.begin_array();
    for (std::size_t i = 0; i < found.size() && i < page; ++i) {
        w.begin_object();
        write_task(w, *found[i]);
        w.end_object();
    }
    w.end_array();
    if (found.size() > page) {
        const auto last = static_cast<std::uint32_t>(found[page - 1]->number);
        w.key_raw(R"("nextCursor":)");
        w.string(encode_cursor({list_kind::tasks, last, {}}, r.memory));
    }
    end_result(r, w);
    reply(r, std::move(out));
}

void engine::method_tasks_result(request& r) {
    fault why;
    const task_ref found = named_task(*this, r, why);
    if (found == nullptr) {
        return refuse(r, why);
    }
    if (is_terminal(found->status)) {
        answer_with_outcome(*this, r, found);
        return finish(r);
    }
    run(r, wait_for_result(*this, r, found->shard));
}

void engine::method_tasks_update(request& r) {
    fault why;
    const task_ref found = named_task(*this, r, why);
    if (found == nullptr) {
        return reply_error(r, why);
    }
    const json::view responses = r.usual.input_responses;
    if (!responses.is_object()) {
        refusal(why, rpc::invalid_params, "inputResponses is required",
                R"({"field":"inputResponses","reason":"required"})");
        return reply_error(r, why);
    }
    std::vector<std::pair<std::string, std::string>> answers;
    auto take = [&](task_record& t) {
        for (const json::member one : responses.members()) {
            const auto is_this = [&one](const task_question& q) { return q.key == one.key; };
            if (std::erase_if(t.questions, is_this) > 0) {
                base::byte_buffer text(r.memory.pool());
                json::writer(text).value(one.value);
                answers.emplace_back(one.key, text.view());
            }
        }
        if (t.questions.empty() && !answers.empty()) {
            t.status = task_status::working;
        }
        return !answers.empty();
    };
    const auto done = shared_.change_task(found->id, loop_.unix_ms(), take);
    if (done.changed) {
        shared_.post_to(found->shard, [id = found->id, given = std::move(answers)](engine& e) {
            e.tasks().take_answers(id, given);
        });
    }
    reply(r, empty_result(r));
}

void engine::method_tasks_cancel(request& r) {
    fault why;
    const task_ref found = named_task(*this, r, why);
    if (found == nullptr) {
        return reply_error(r, why);
    }
    auto end = [](task_record& t) {
        t.status = task_status::cancelled;
        t.questions.clear();
        t.message = "cancelled by the client";
        return true;
    };
    const auto done = shared_.change_task(found->id, loop_.unix_ms(), end);
    if (done.changed) {
        shared_.post_to(found->shard, [id = found->id](engine& e) { e.tasks().cancel(id); });
    }
    if (r.modern()) {
        return reply(r, empty_result(r));
    }
    if (done.now == nullptr) {
        unknown_task(why);
        return reply_error(r, why);
    }
    if (!done.changed) {
        refusal(why, rpc::invalid_params, "The task has ended already",
                R"({"field":"taskId","reason":"terminal"})");
        return reply_error(r, why);
    }
    reply(r, task_reply(r, *done.now));
}

}  // namespace pillion::mcp
