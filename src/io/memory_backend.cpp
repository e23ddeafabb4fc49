#include "io/memory_backend.hpp"

#include <cerrno>
#include <chrono>

namespace pillion::io {

void memory_backend::refuse(op& target) noexcept {
    target.in_flight = true;
    completion what;
    what.target = &target;
    what.res = -ENOSYS;
    refused_.push_back(what);
}

// Waits until woken; false when helpers take so long that the clock had better go on: they may be
// waiting for something that only time brings.
bool memory_backend::wait_for_helpers() noexcept {
    constexpr std::chrono::seconds patience(1);
    std::unique_lock lock(mutex_);
    const bool woken = wakes_.wait_for(lock, patience, [this] { return woken_; });
    woken_ = false;
    return woken;
}

void memory_backend::turn(std::int64_t wait_ns, std::vector<completion>& out) noexcept {
    idle_ = false;
    if (!refused_.empty()) {
        out.insert(out.end(), refused_.begin(), refused_.end());
        refused_.clear();
        return;
    }
    if (wait_ns == 0) {
        return;
    }
    if (busy_() && wait_for_helpers()) {
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        if (woken_) {
            woken_ = false;
            return;
        }
    }
    if (held_ || wait_ns < 0) {
        idle_ = !busy_();
        return;
    }
    now_ns_ += wait_ns;
}

void memory_backend::wake() noexcept {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    wakes_.notify_one();
}

}  // namespace pillion::io
