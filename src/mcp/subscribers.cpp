#include "mcp/subscribers.hpp"

#include "base/assert.hpp"

namespace pillion {

void resource_provider::subscribed(std::string_view /*uri*/, bool /*on*/) {}

namespace mcp {

resource_provider* subscribers::owner_of(std::string_view uri) const noexcept {
    for (const auto& provider : providers_) {
        if (provider->owns(uri)) {
            return provider.get();
        }
    }
    return nullptr;
}

void subscribers::add(std::string_view uri) {
    resource_provider* const owner = owner_of(uri);
    if (owner == nullptr) {
        return;
    }
    const std::lock_guard lock(mutex_);
    const auto at = counts_.find(uri);
    if (at != counts_.end()) {
        ++at->second;
        return;
    }
    counts_.emplace(std::string(uri), 1);
    owner->subscribed(uri, true);
}

void subscribers::remove(std::string_view uri) {
    resource_provider* const owner = owner_of(uri);
    if (owner == nullptr) {
        return;
    }
    const std::lock_guard lock(mutex_);
    const auto at = counts_.find(uri);
    PILLION_ASSERT(at != counts_.end());
    if (--at->second == 0) {
        counts_.erase(at);
        owner->subscribed(uri, false);
    }
}

std::size_t subscribers::size() const {
    const std::lock_guard lock(mutex_);
    return counts_.size();
}

}  // namespace mcp
}  // namespace pillion
