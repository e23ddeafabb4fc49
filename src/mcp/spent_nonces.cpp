#include "mcp/spent_nonces.hpp"

namespace pillion::mcp {

spent_nonces::outcome spent_nonces::spend(std::string_view nonce, std::int64_t now_ms,
                                          std::int64_t until_ms) {
    const std::lock_guard lock(mutex_);
    while (!oldest_first_.empty() && oldest_first_.front().until_ms < now_ms) {
        nonces_.erase(nonces_.find(*oldest_first_.front().nonce));
        oldest_first_.pop_front();
    }
    outcome out = outcome::first;
    if (nonces_.contains(nonce)) {
        out = outcome::again;
    } else if (nonces_.size() >= nonces_max_) {
        out = outcome::full;
    } else {
        oldest_first_.emplace_back(until_ms, *nonces_.emplace(nonce).first);
    }
    count_.store(nonces_.size(), std::memory_order_release);
    return out;
}

bool spent_nonces::spent(std::string_view nonce) const {
    if (size() == 0) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    return nonces_.contains(nonce);
}

}  // namespace pillion::mcp
