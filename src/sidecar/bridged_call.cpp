#include "sidecar/bridged_call.hpp"

#include <utility>

namespace pillion::sidecar {

void bridged_call::attach(std::size_t shard, coro::event& arrived) {
    const std::lock_guard lock(mutex_);
    shard_ = shard;
    arrived_ = &arrived;
    if (!events_.empty()) {
        arrived.set();
    }
}

void bridged_call::detach(const coro::event& arrived) {
    const std::lock_guard lock(mutex_);
    if (arrived_ == &arrived) {
        arrived_ = nullptr;
    }
}

std::optional<call_event> bridged_call::front() {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) {
        if (arrived_ != nullptr) {
            arrived_->reset();
        }
        return std::nullopt;
    }
    return events_.front();
}

void bridged_call::pop() {
    const std::lock_guard lock(mutex_);
    events_.pop_front();
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
        if (arrived_ == nullptr) {
            return true;
        }
        shard = shard_;
    }
    shared_.post_to(shard, [me = shared_from_this(), shard](mcp::engine&) { me->wake(shard); });
    return true;
}

// On `shard`, which may not be the handler's any more.
void bridged_call::wake(std::size_t shard) {
    const std::lock_guard lock(mutex_);
    if (arrived_ != nullptr && shard_ == shard && !events_.empty()) {
        arrived_->set();
    }
}

}  // namespace pillion::sidecar
