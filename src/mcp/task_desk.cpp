#include "mcp/task_desk.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/base64.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "mcp/engine.hpp"
#include "mcp/progress_pace.hpp"
#include "mcp/task_replies.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

std::int64_t ttl_of(const request& r) noexcept {
    const auto& terms = r.tool->definition->terms;
    const std::int64_t own = std::min(terms.ttl.count(), limits::task_ttl_ms_max);
    // A client may want it kept longer, up to a limit; what is granted is told.
    const std::int64_t wanted = r.params["task"]["ttl"].i64().value_or(0);
    return r.modern() ? own : std::clamp(wanted, own, limits::task_ttl_ms_max);
}

}  // namespace

task_desk::~task_desk() { PILLION_ASSERT(runs_.empty() && watchers_.empty() && calls_.empty()); }

// 160 random bits as visible ASCII.
std::string task_desk::new_id() const {
    unsigned char random[20];
    base::os_random(random, sizeof random);
    std::string id(base::base64::encoded_size(sizeof random, base::base64::form::url), '\0');
    base::base64::encode({reinterpret_cast<const char*>(random), sizeof random}, id.data(),
                         base::base64::form::url);
    return id;
}

task_record task_desk::record_of(const request& r) const {
    task_record made;
    made.id = new_id();
    made.owner = r.principal;
    made.session = r.session == nullptr ? std::string() : r.session->id();
    made.tool = r.target;
    made.rev = r.rev;
    made.shard = engine_.shard();
    made.created_ms = made.updated_ms = engine_.loop().unix_ms();
    made.ttl_ms = ttl_of(r);
    made.poll_ms = r.tool->definition->terms.poll.count();
    return made;
}

bool task_desk::begin(request& r, fault& why) {
    PILLION_ASSERT(!r.replied && r.run == nullptr && r.channel != nullptr);
    const task_ref kept = engine_.shared().tasks().insert(record_of(r));
    if (kept == nullptr) {
        why.code = rpc::rate_limited;
        why.http_status = 429;
        why.message = "Too many tasks";
        why.retry_after_s = 60;
        return false;
    }
    r.counted.release();  // tasks have caps of their own
    log::info("mcp.task_began", {log::kv("target", r.target), log::kv("request_id", r.request_id)});
    if (r.pace != nullptr && r.pace->holds()) {
        r.pace->flush();  // while there is a caller to hear it
    }
    base::byte_buffer answer = task_created_reply(r, *kept);
    r.run = new task_run(r, kept->id);
    r.as_task = request::task_mode::running;
    runs_.emplace(kept->id, r.run);
    // From here on no request of this id is under way, and none of its session.
    if (r.in_table) {
        static_cast<base::list_hook<detail::in_flight_tag>&>(r).unlink();
        r.in_table = false;
    }
    if (r.held_session) {
        r.held_session = false;
        r.session->release(engine_.now_ms());
    }
    r.head = nullptr;
    r.in_table = true;
    requests_.push_back(r);
    r.heartbeat.cancel();
    r.deadline.cancel();
    const auto& terms = r.tool->definition->terms;
    const std::int64_t own_ms = terms.limit.count() > 0 ? terms.limit.count() : kept->ttl_ms;
    const std::int64_t limit_ms =
        std::min({own_ms, kept->ttl_ms, engine_.options().task_timeout_ms_max});
    r.deadline_ns = r.hard_deadline_ns = engine_.loop().now_ns() + limit_ms * 1'000'000;
    engine_.loop().timers().arm(r.deadline, r.deadline_ns);
    reply_channel* const caller = r.channel;
    r.channel = r.run;
    caller->reply(r, std::move(answer), 200);
    return true;
}

void task_desk::end(task_run& run) noexcept { runs_.erase(run.id()); }

void task_desk::give_up_questions() noexcept {
    for (const auto& [id, run] : runs_) {
        run->give_up_questions();
    }
}

void task_desk::take_answers(
    std::string_view id, const std::vector<std::pair<std::string, std::string>>& answers) noexcept {
    const auto at = runs_.find(id);
    if (at != runs_.end()) {
        at->second->take_answers(answers);
    }
}

void task_desk::cancel(std::string_view id) noexcept {
    const auto at = runs_.find(id);
    if (at != runs_.end()) {
        at->second->cancelled();
    }
}

void task_desk::attach(std::string_view id, desk_caller caller) {
    const auto at = runs_.find(id);
    if (at != runs_.end()) {
        at->second->attach(std::move(caller));
    }
}

void task_desk::detach(std::string_view id, std::size_t shard, std::uint64_t number) noexcept {
    const auto at = runs_.find(id);
    if (at != runs_.end()) {
        at->second->detach(shard, number);
    }
}

void task_desk::pass_on(std::uint64_t call_number, std::string_view message) noexcept {
    const auto at = calls_.find(call_number);
    if (at != calls_.end()) {
        at->second->on_task_message(message);
    }
}

void task_desk::give_way(std::uint64_t call_number) noexcept {
    const auto at = calls_.find(call_number);
    if (at != calls_.end()) {
        at->second->on_newer_call();
    }
}

void task_desk::tell(const task_ref& now) noexcept {
    if (is_legacy(now->rev)) {
        engine_.changes().task_status(*now);
    }
    const auto at = watchers_.find(now->id);
    if (at == watchers_.end()) {
        return;
    }
    for (task_watcher& one : at->second) {
        one.on_task(now);
    }
}

void task_desk::watch(std::string_view id, task_watcher& by) {
    auto at = watchers_.find(id);
    if (at == watchers_.end()) {
        at = watchers_.try_emplace(std::string(id)).first;
    }
    at->second.push_back(by);
}

void task_desk::unwatch(std::string_view id, task_watcher& by) noexcept {
    by.unlink();
    const auto at = watchers_.find(id);
    if (at != watchers_.end() && at->second.empty()) {
        watchers_.erase(at);
    }
}

std::uint64_t task_desk::add_call(desk_call& by) {
    calls_.emplace(++call_numbers_, &by);
    return call_numbers_;
}

void task_desk::sweep() noexcept {
    const std::int64_t now_ms = engine_.loop().unix_ms();
    for (auto& [id, list] : watchers_) {
        if (engine_.shared().tasks().find(id, now_ms) == nullptr) {
            for (task_watcher& one : list) {
                one.on_task(nullptr);
            }
        }
    }
}

}  // namespace pillion::mcp
