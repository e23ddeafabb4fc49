#include "sidecar/bridged_call.hpp"

#include <utility>

namespace pillion::sidecar {

void bridged_call::attach(std::size_t shard, coro::event& arrived) {
    listener before;
    {
        const std::lock_guard lock(mutex_);
        before = std::exchange(now_, {shard, &arrived});
        if (!events_.empty()) {
            arrived.set();
        }
        if (before.arrived == nullptr) {
            return;
        }
        overtaken_.push_back(before);
    }
    wake_on(before.shard);
}

bool bridged_call::detach(const coro::event& arrived) {
    const std::lock_guard lock(mutex_);
    if (now_.arrived == &arrived) {
        now_.arrived = nullptr;
        return true;
    }
    std::erase_if(overtaken_, [&arrived](const listener& one) { return one.arrived == &arrived; });
    return false;
}

bool bridged_call::is_overtaken(const coro::event& arrived) {
    const std::lock_guard lock(mutex_);
    return now_.arrived != &arrived;
}

bool bridged_call::is_attended() {
    const std::lock_guard lock(mutex_);
    return now_.arrived != nullptr;
}

std::optional<call_event> bridged_call::front(coro::event& arrived) {
    const std::lock_guard lock(mutex_);
    if (now_.arrived != &arrived) {
        return std::nullopt;
    }
    if (events_.empty()) {
        arrived.reset();
        return std::nullopt;
    }
    return events_.front();
}

void bridged_call::pop(const coro::event& arrived) {
    const std::lock_guard lock(mutex_);
    if (now_.arrived == &arrived) {
        events_.pop_front();
    }
}

bool bridged_call::push(call_event what) {
    std::size_t shard = 0;
    {
        const std::lock_guard lock(mutex_);
        const bool last =
            what.what == call_event::kind::result || what.what == call_event::kind::error;
        if (events_.size() >= events_max && !last) {
            return false;
        }
        // Of progress that nobody has taken yet only the last counts.
        // The first event may be in somebody's hands.
        const bool newer = what.what == call_event::kind::progress && events_.size() > 1 &&
                           events_.back().what == call_event::kind::progress;
        if (newer) {
            events_.back() = std::move(what);
        } else {
            events_.push_back(std::move(what));
        }
        if (now_.arrived == nullptr) {
            return true;
        }
        shard = now_.shard;
    }
    wake_on(shard);
    return true;
}

void bridged_call::wake_on(std::size_t shard) {
    shared_.post_to(shard, [me = shared_from_this(), shard](mcp::engine&) { me->wake(shard); });
}

// On `shard`, which may not be the handler's any more.
void bridged_call::wake(std::size_t shard) {
    const std::lock_guard lock(mutex_);
    if (now_.arrived != nullptr && now_.shard == shard && !events_.empty()) {
        now_.arrived->set();
    }
    for (const listener& one : overtaken_) {
        if (one.shard == shard) {
            one.arrived->set();
        }
    }
}

}  // namespace pillion::sidecar
