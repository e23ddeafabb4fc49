#include "mcp/subscribers.hpp"

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
        board_.add(uri);
        return;
    }
    const std::lock_guard lock(mutex_);
    if (board_.add(uri)) {
        owner->subscribed(uri, true);
    }
}

void subscribers::remove(std::string_view uri) {
    resource_provider* const owner = owner_of(uri);
    if (owner == nullptr) {
        board_.remove(uri);
        return;
    }
    const std::lock_guard lock(mutex_);
    if (board_.remove(uri)) {
        owner->subscribed(uri, false);
    }
}

}  // namespace mcp
}  // namespace pillion
