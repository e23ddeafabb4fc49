#include "mcp/engine.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/assert.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "http/exchange.hpp"
#include "json/parser.hpp"
#include "mcp/access_check.hpp"
#include "mcp/modern_checks.hpp"
#include "mcp/progress_pace.hpp"
#include "mcp/trace_headers.hpp"
#include "rpc/envelope.hpp"
#include "rpc/errors.hpp"

namespace pillion::detail {

request_state::request_state(mcp::engine& on, mcp::edition& from) noexcept
    : engine(on),
      served_from(from),
      memory(on.loop().chunks()),
      ctx(this),
      stop(&on.root_),
      deadline(&mcp::engine::on_deadline, this),
      heartbeat(&mcp::engine::on_heartbeat, this) {}

request_state::~request_state() = default;

base::byte_buffer request_state::new_message() noexcept {
    return base::byte_buffer(engine.loop().chunks(), http::exchange::head_gap);
}

json::view request_state::parse(std::string_view text, const json::parse_limits& most) noexcept {
    char* copy = static_cast<char*>(memory.try_allocate(text.size() + limits::padding, 1));
    if (copy == nullptr) {
        memory.exceed();
        return {};
    }
    text.copy(copy, text.size());
    const json::parse_result parsed = json::parse(copy, text.size(), memory, most);
    return parsed.ok ? parsed.root : json::view{};
}

}  // namespace pillion::detail

namespace pillion::mcp {

namespace {

constexpr std::int64_t sweep_ms_min = 100;
constexpr std::int64_t sweep_ms_max = 30'000;

// The id of an in-flight request as text that tells "1" and 1 apart.
std::string_view id_text(json::view id) noexcept {
    return id.is_string() ? id.str() : id.number_text();
}

std::string id_key(json::view id) {
    std::string key(id.is_string() ? "s" : "n");
    key.append(id_text(id));
    return key;
}

bool matches(std::string_view key, json::view id) noexcept {
    return key.front() == (id.is_string() ? 's' : 'n') && key.substr(1) == id_text(id);
}

// By what the client knows, not by addresses: the same traffic is walked in the same order.
std::size_t bucket_of(const session* s, std::string_view id) noexcept {
    return (base::hash_bytes(id) ^ (s == nullptr ? 0 : s->hash())) % engine::buckets;
}

}  // namespace

engine::engine(service& shared, io::reactor& loop, std::size_t shard)
    : shared_(shared),
      loop_(loop),
      shard_(shard),
      options_(shared.options()),
      limiter_(shared.budgets(), loop),
      tasks_(*this),
      sweep_(&engine::on_sweep, this),
      tokens_(hub_, loop_) {
    // Who listens here cannot have missed what changed before there was a here.
    hub_.begin_after(shared_.published());
    shared_.join(shard_, *this);
    on_sweep(sweep_, this);
}

engine::~engine() {
    shared_.leave(shard_);
    PILLION_ASSERT(live_ == 0);
    while (spare_ != nullptr) {
        void* next = *static_cast<void**>(spare_);
        std::free(spare_);
        spare_ = next;
    }
}

bool engine::end_parts() noexcept {
    PILLION_ASSERT(idle());
    constexpr std::int64_t patience_ns = 5'000'000'000;
    constexpr std::int64_t turn_ns = 10'000'000;
    const std::int64_t until = loop_.now_ns() + patience_ns;
    for (const kept_part& one : parts_) {
        one.it->close();
    }
    const auto busy = [](const kept_part& one) { return !one.it->idle(); };
    while (std::any_of(parts_.begin(), parts_.end(), busy)) {
        if (loop_.now_ns() >= until) {
            return false;
        }
        loop_.run_one(turn_ns);
    }
    parts_.clear();
    return true;
}

edition& engine::current_edition() noexcept {
    const std::uint64_t number = shared_.edition();
    if (!editions_.empty() && editions_.back()->number == number) {
        return *editions_.back();
    }
    auto next = std::make_unique<edition>();
    // The registry may be newer than the number: then it is fetched once more.
    next->number = number;
    next->offers = shared_.registered();
    next->rows = meters_.rows_of(*next->offers);
    editions_.push_back(std::move(next));
    drop_old_editions();
    return *editions_.back();
}

void engine::drop_old_editions() noexcept {
    const edition* const current = editions_.back().get();
    std::erase_if(editions_,
                  [current](const auto& e) { return e.get() != current && e->requests == 0; });
}

request& engine::make() noexcept {
    void* block = spare_;
    if (block != nullptr) {
        spare_ = *static_cast<void**>(block);
        --spares_;
    } else {
        block = std::malloc(sizeof(request));
        PILLION_ASSERT(block != nullptr);
    }
    ++live_;
    edition& from = current_edition();
    ++from.requests;
    auto* r = ::new (block) request(*this, from);
    r->started_ns = loop_.now_ns();
    r->memory.limit(options_->request_memory_bytes_max);
    return *r;
}

void engine::discard(request& r) noexcept {
    request* parent = r.parent;
    if (r.held_session) {
        r.session->release(now_ms());
    }
    delete r.run;
    edition& from = r.served_from;
    r.~request();
    --live_;
    if (--from.requests == 0 && &from != editions_.back().get()) {
        drop_old_editions();
    }
    if (spares_ < spare_max) {
        *reinterpret_cast<void**>(&r) = spare_;
        spare_ = &r;
        ++spares_;
    } else {
        std::free(&r);
    }
    if (parent != nullptr) {
        PILLION_ASSERT(parent->children > 0);
        --parent->children;
        maybe_free(*parent);
    }
}

void engine::maybe_free(request& r) noexcept {
    if (r.replied && r.finished && r.children == 0) {
        discard(r);
    }
}

void engine::serve(request& r) noexcept {
    r.mid = find_method(r.method);
    fault why;
    r.trace = read_trace(r);
    if (!admit(r, why)) {
        r.outcome = refused_by(why);
        return refuse(r, why);
    }
    if (!(r.modern() ? check_modern(r, why) : check_legacy(r, why)) ||
        !check_method_access(r, why)) {
        return refuse(r, why);
    }
    switch (r.mid) {
        case method_id::initialize:
            method_initialize(r);
            break;
        case method_id::ping:
            reply(r, empty_result(r));
            break;
        case method_id::discover:
            method_discover(r);
            break;
        case method_id::logging_set_level:
            method_set_level(r);
            break;
        case method_id::resources_subscribe:
        case method_id::resources_unsubscribe:
            method_subscribe(r, r.mid == method_id::resources_subscribe);
            break;
        case method_id::tools_list:
            method_tools_list(r);
            break;
        case method_id::prompts_list:
            method_prompts_list(r);
            break;
        case method_id::resources_templates_list:
            method_templates_list(r);
            break;
        // The rest may run a task of its own, which finishes the request.
        case method_id::resources_list:
            return method_resources_list(r);
        case method_id::tools_call:
            return method_tools_call(r);
        case method_id::prompts_get:
            return method_prompts_get(r);
        case method_id::resources_read:
            return method_resources_read(r);
        case method_id::completion_complete:
            return method_complete(r);
        case method_id::subscriptions_listen:
            return method_listen(r);
        case method_id::tasks_result:
            return method_tasks_result(r);
        case method_id::tasks_get:
            method_tasks_get(r);
            break;
        case method_id::tasks_list:
            method_tasks_list(r);
            break;
        case method_id::tasks_update:
            method_tasks_update(r);
            break;
        case method_id::tasks_cancel:
            method_tasks_cancel(r);
            break;
        case method_id::unknown:
            PILLION_ASSERT(false);
    }
    finish(r);
}

// Over HTTP the head was looked at already, so that mostly nothing is refused here; on a pipe this
// is the only place.
bool engine::admit(request& r, fault& why) noexcept {
    const std::size_t others = under_way() - 1;
    const bool relief = r.mid == method_id::tasks_update || r.mid == method_id::tasks_cancel;
    if (!relief && limiter_.overloaded(others, options_->limit)) {
        limiter_.shed(others, options_->limit, why);
        return false;
    }
    return limiter_.begin(r.payer, options_->limit, r.counted, why);
}

void engine::refuse(request& r, const fault& why) noexcept {
    reply_error(r, why);
    finish(r);
}

void engine::reply(request& r, base::byte_buffer message, base::chunk* rest) noexcept {
    if (!r.replied) {
        note_end(r, message.size() + (rest == nullptr ? 0 : rest->size()));
    }
    if (r.pace != nullptr && r.pace->holds() && r.channel != nullptr && !r.replied) {
        r.pace->flush();
    }
    r.replied = true;
    r.heartbeat.cancel();
    if (reply_channel* to = r.channel) {
        r.channel = nullptr;
        if (rest != nullptr) {
            to->reply_shared(r, std::move(message), *rest, r.http_status);
        } else {
            to->reply(r, std::move(message), r.http_status);
        }
    } else {
        base::chunk_pool::give(rest);
    }
    if (r.finished) {
        maybe_free(r);
    }
}

void engine::reply_error(request& r, const fault& why) noexcept {
    if (r.outcome == outcome()) {
        r.outcome = "error";
    }
    reply(r, error_reply(r, why));
}

void engine::finish(request& r) noexcept {
    r.finished = true;
    r.deadline.cancel();
    r.heartbeat.cancel();
    if (r.straggling) {
        stragglers_.remove(r);
    }
    if (r.run != nullptr) {
        tasks_.end(*r.run);
    }
    if (r.in_table) {
        r.in_table = false;
        static_cast<base::list_hook<detail::in_flight_tag>&>(r).unlink();
    }
    maybe_free(r);
}

task<> engine::guarded(request& r, task<> body) {
    try {
        co_await std::move(body);
        co_return;
    } catch (const std::exception& e) {
        // The text goes to the log only, without what looks like a secret.
        log::error("mcp.handler_threw",
                   {log::kv("method", r.method), log::kv("target", r.target),
                    log::kv("request_id", r.request_id), log::kv("what", log_text(r, e.what()))});
    } catch (...) {
        log::error("mcp.handler_threw", {log::kv("method", r.method), log::kv("target", r.target),
                                         log::kv("request_id", r.request_id)});
    }
    if (!r.replied) {
        r.outcome = "exception";
        fault why;
        why.code = rpc::internal_error;
        why.message = "Internal error";
        reply_error(r, why);
    }
    finish(r);
}

void engine::run(request& r, task<> body) noexcept {
    // The request may be gone when spawn() returns: it is kept alive by one child count.
    ++r.children;
    handlers_.spawn(guarded(r, std::move(body)));
    --r.children;
    if (r.finished) {
        return maybe_free(r);
    }
    went_async(r);
}

bool engine::become_task(request& r) noexcept {
    if (r.as_task != request::task_mode::wanted || r.replied || r.channel == nullptr) {
        return r.as_task == request::task_mode::running;
    }
    fault why;
    if (tasks_.begin(r, why)) {
        asking_ -= r.asking > 0 ? 1U : 0U;
        return true;
    }
    r.as_task = request::task_mode::none;
    if (r.tool->definition->terms.support == task_support::required) {
        r.outcome = "too_many_tasks";
        reply_error(r, why);
        stop(r, coro::stop_reason::deadline);
    }
    return false;
}

void engine::went_async(request& r) noexcept {
    if (r.as_task != request::task_mode::none &&
        (!r.tool->definition->terms.begins_later || r.run != nullptr) && become_task(r)) {
        return;
    }
    if (r.session != nullptr && !r.held_session) {
        r.held_session = true;
        r.session->hold();
    }
    // What the head said has been used; it dies when the transport returns.
    r.head = nullptr;
    r.in_table = true;
    in_flight_[bucket_of(r.session.get(), id_text(r.id))].push_back(r);
    arm_deadline(r);
    await_heartbeat(r);
}

void engine::await_heartbeat(request& r) noexcept {
    if (r.pace != nullptr && r.pace->holds()) {
        return;  // the timer is for that
    }
    if (r.tool != nullptr && r.tool->definition->heartbeat.count() > 0 && !r.replied &&
        r.progress_token.exists()) {
        loop_.arm_in_ms(r.heartbeat, r.tool->definition->heartbeat.count());
    }
}

// The value must grow, and leave room for the handler's own next one.
void engine::on_heartbeat(io::timer& /*self*/, void* owner) noexcept {
    constexpr double step = 0.001;
    request& r = *static_cast<request*>(owner);
    if (r.replied || r.channel == nullptr) {
        return;
    }
    const bool holds = r.pace != nullptr && r.pace->holds();
    if (r.drained.is_set()) {
        bool room = true;
        if (holds) {
            room = r.pace->flush();
        } else {
            r.progressed = true;
            r.last_progress += step;
            room = r.channel->notify(r, progress_message(r, r.last_progress, 0, "still working"));
        }
        if (!room) {
            r.drained.reset();
        }
    } else if (holds) {
        r.pace->postpone();
    }
    r.engine.await_heartbeat(r);
}

bool engine::running(const session* of, json::view request_id) const noexcept {
    auto& list = const_cast<in_flight_list&>(in_flight_[bucket_of(of, id_text(request_id))]);
    for (request& r : list) {
        // One that was answered but ignores its stop has given its id back.
        if (r.session.get() == of && !r.replied && rpc::same_id(r.id, request_id)) {
            return true;
        }
    }
    return false;
}

void engine::cancel(const session_ref& of, json::view request_id) noexcept {
    if (!request_id.exists()) {
        return;
    }
    const std::string key = id_key(request_id);
    if (shared_.shards() == 1) {
        return cancel_here(of.get(), key);
    }
    shared_.broadcast([of, key](engine& e) { e.cancel_here(of.get(), key); });
}

void engine::cancel_here(const session* of, std::string_view key) noexcept {
    // Walks all buckets only when asked across shards would be wasteful; the hash finds it.
    for (request& r : in_flight_[bucket_of(of, key.substr(1))]) {
        if (r.session.get() != of || r.replied || !matches(key, r.id) ||
            r.mid == method_id::initialize) {
            continue;
        }
        r.outcome = "cancelled";
        // What the call asked of the client is moot as well; afterwards there is no way to say so.
        for (client_call& call : calls_) {
            if (&call.asker() == &r && r.channel != nullptr) {
                call.take_back("no longer needed");
            }
        }
        note_end(r, 0);
        r.replied = true;
        stop(r, coro::stop_reason::client_cancelled);
        if (reply_channel* to = r.channel) {
            r.channel = nullptr;
            to->drop(r);
        }
        return;
    }
}

void engine::disconnected(request& r) noexcept {
    r.channel = nullptr;
    r.drained.set();
    if (r.ends_with_client() && !r.replied) {
        r.outcome = "disconnected";
        note_end(r, 0);
        r.replied = true;
        stop(r, coro::stop_reason::disconnected);
    }
}

std::size_t engine::disconnect_modern(const reply_channel& pipe) noexcept {
    std::size_t gone = 0;
    for (in_flight_list& list : in_flight_) {
        for (request& r : list) {
            if (r.channel == &pipe && r.modern() && !r.replied) {
                disconnected(r);
                ++gone;
            }
        }
    }
    return gone;
}

void engine::writable() noexcept {
    for (in_flight_list& list : in_flight_) {
        for (request& r : list) {
            r.drained.set();
        }
    }
    hub_.writable();
}

void engine::end_questions() noexcept {
    tasks_.give_up_questions();
    for (client_call& call : calls_) {
        call.give_up();
    }
}

void engine::drain() noexcept {
    // Clients are not listened to much longer: nobody's answer can be waited for.
    end_questions();
    draining_.request(coro::stop_reason::shutdown);
    hub_.drain();
}

void engine::stop_all() noexcept {
    sweep_.cancel();
    tokens_.stop();
    root_.request(coro::stop_reason::shutdown);
}

void engine::session_ended(session* which) noexcept {
    shared_.end_subscriptions(*which);
    hub_.session_ended(which);
    for (in_flight_list& list : in_flight_) {
        // reply_error() never frees a request that has not finished, so walking on is safe.
        for (request& r : list) {
            if (r.session.get() != which || r.replied) {
                continue;
            }
            r.outcome = "session_ended";
            stop(r, coro::stop_reason::session_ended);
            fault why;
            why.code = rpc::invalid_request;
            why.http_status = 404;
            why.message = "Session ended";
            reply_error(r, why);
        }
    }
}

void engine::expire_sessions() noexcept {
    shared_.tasks().expire(loop_.unix_ms());
    tasks_.sweep();
    shared_.results().expire(loop_.unix_ms());
    const std::int64_t before = now_ms() - options_->session_idle_ms;
    shared_.sessions().trim_events(shard_, now_ms());
    for (const session_ref& s : shared_.sessions().expire(shard_, before)) {
        log::info("mcp.session_expired", {log::kv("revision", name_of(s->negotiated()))});
        shared_.broadcast([s](engine& e) { e.session_ended(s.get()); });
    }
}

void engine::on_sweep(io::timer& self, void* owner) noexcept {
    engine& e = *static_cast<engine*>(owner);
    e.expire_sessions();
    const std::int64_t quarter = e.options_->session_idle_ms / 4;
    const std::int64_t pause = quarter < sweep_ms_min   ? sweep_ms_min
                               : quarter > sweep_ms_max ? sweep_ms_max
                                                        : quarter;
    e.loop_.arm_in_ms(self, pause);
}

}  // namespace pillion::mcp
