#include "mcp/service.hpp"

#include <algorithm>
#include <utility>

#include "base/limits.hpp"
#include "io/reactor.hpp"
#include "mcp/engine.hpp"
#include "mcp/memory_task_store.hpp"

namespace pillion::mcp {

namespace {

std::shared_ptr<const service_options> completed(service_options options) {
    if (options.state_keys == nullptr) {
        options.state_keys = crypto::key_ring::random();
    }
    if (options.tasks == nullptr) {
        options.tasks = std::make_shared<memory_task_store>();
    }
    return std::make_shared<const service_options>(std::move(options));
}

}  // namespace

service::service(std::shared_ptr<const registry> registered, pillion::server& host,
                 io::offload& blocking, std::size_t shards, const service_options& options)
    : registry_(std::move(registered)),
      host_(host),
      blocking_(blocking),
      options_(completed(options)),
      sessions_(shards, options.sessions_max),
      empty_object_(*json::document::parse("{}")),
      subscribers_(registry_->providers(), board_),
      results_(options.kept_result_bytes_max) {
    for (std::size_t i = 0; i < shards; ++i) {
        engines_.push_back(std::make_unique<slot>());
    }
}

std::shared_ptr<const registry> service::registered() const {
    const std::lock_guard lock(registry_mutex_);
    return registry_;
}

void service::replace(std::shared_ptr<const registry> next) {
    const std::lock_guard lock(registry_mutex_);
    registry_.swap(next);
    edition_.fetch_add(1, std::memory_order_release);
}

void service::join(std::size_t shard, engine& e) noexcept {
    const std::lock_guard lock(engines_[shard]->mutex);
    slot& s = *engines_[shard];
    s.up = &e;
    s.thread = std::this_thread::get_id();
    s.reads = s.passes_on = false;
}

void service::leave(std::size_t shard) noexcept {
    const std::lock_guard lock(engines_[shard]->mutex);
    engines_[shard]->up = nullptr;
}

void service::broadcast(const std::function<void(engine&)>& job) {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
        post_to(i, job);
    }
}

void service::post_to(std::size_t shard, std::function<void(engine&)> job) {
    slot& s = *engines_[shard];
    const std::lock_guard lock(s.mutex);
    if (s.up != nullptr) {
        // The shard looks itself up again: it may have left before the job runs.
        s.up->loop().post([this, shard, run = std::move(job)] {
            if (engine* e = engines_[shard]->up) {
                run(*e);
            }
        });
    }
}

void service::end_subscriptions(session& of) {
    for (const std::string& uri : of.end_subscriptions()) {
        subscribers_.remove(uri);
    }
}

task_store::change_result service::change_task(std::string_view id, std::int64_t now_ms,
                                               base::function_ref<bool(task_record&)> edit) {
    const std::lock_guard lock(task_mutex_);
    auto done = tasks().change(id, now_ms, edit);
    if (done.changed) {
        broadcast([now = done.now](engine& e) { e.tasks().tell(now); });
    }
    return done;
}

void service::publish(change what, std::string_view uri) {
    if (!board_.note(what, uri)) {
        return;
    }
    for (std::size_t i = 0; i < engines_.size(); ++i) {
        slot& s = *engines_[i];
        if (is_this_thread(s)) {
            s.passes_on = true;  // read_board() runs on this thread, too
            return read_board_on(i);
        }
    }
    for (std::size_t i = 0; i < engines_.size(); ++i) {
        read_board_on(i);
    }
}

bool service::is_this_thread(slot& s) noexcept {
    const std::lock_guard lock(s.mutex);
    return s.up != nullptr && s.thread == std::this_thread::get_id();
}

void service::read_board_on(std::size_t shard) noexcept {
    slot& s = *engines_[shard];
    const std::lock_guard lock(s.mutex);
    if (s.up != nullptr && !s.reads) {
        s.reads = true;
        s.up->loop().post([this, shard] { read_board(shard); });
    }
}

void service::read_board(std::size_t shard) noexcept {
    slot& s = *engines_[shard];
    {
        // Taken back before the board is read: whatever comes later asks again.
        const std::lock_guard lock(s.mutex);
        s.reads = false;
    }
    if (s.up == nullptr) {
        return;
    }
    hub& here = s.up->changes();
    if (!here.telling()) {
        here.begin_telling(board_.since(here.heard()));
    }
    // Requests that arrive meanwhile wait for this turn. When they are many it has taken time
    // already, and the telling may take as much again, so that neither starves the other.
    io::reactor& loop = s.up->loop();
    const std::int64_t begun_ns = loop.clock_ns();
    const std::int64_t until_ns =
        begun_ns + std::max(limits::telling_ns_min, begun_ns - loop.now_ns());
    here.tell_some([&loop, until_ns] { return loop.clock_ns() < until_ns; });
    if (here.telling() || board_.last() > here.heard()) {
        read_board_on(shard);
    }
    if (std::exchange(s.passes_on, false)) {
        for (std::size_t i = 0; i < engines_.size(); ++i) {
            if (i != shard) {
                read_board_on(i);
            }
        }
    }
}

}  // namespace pillion::mcp
