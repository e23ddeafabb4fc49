#include "mcp/service.hpp"

#include "io/reactor.hpp"
#include "mcp/engine.hpp"
#include "mcp/memory_task_store.hpp"

namespace pillion::mcp {

service::service(std::shared_ptr<const registry> registered, pillion::server& host,
                 io::offload& blocking, std::size_t shards, const service_options& options)
    : registry_(std::move(registered)),
      host_(host),
      blocking_(blocking),
      options_(options),
      sessions_(shards, options.sessions_max),
      empty_object_(*json::document::parse("{}")),
      subscribers_(registry_->providers()) {
    if (options_.state_keys == nullptr) {
        options_.state_keys = crypto::key_ring::random();
    }
    if (options_.tasks == nullptr) {
        options_.tasks = std::make_shared<memory_task_store>();
    }
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
    engines_[shard]->up = &e;
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

void service::task_changed(const task_ref& now) {
    broadcast([now](engine& e) { e.tasks().tell(now); });
}

void service::publish(change what, std::string_view uri) {
    // Numbered and posted under one lock, so that all shards hear the same order.
    const std::lock_guard lock(publish_mutex_);
    const std::uint64_t number = published_.fetch_add(1, std::memory_order_acq_rel) + 1;
    broadcast([what, number, text = std::string(uri)](engine& e) {
        e.changes().publish(change_event{what, text, number});
    });
}

}  // namespace pillion::mcp
