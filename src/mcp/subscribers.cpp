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
    const std::lock_guard lock(mutex_);
    if (board_.add(uri)) {
        tell_owner(uri, true);
    }
}

void subscribers::remove(std::string_view uri) {
    const std::lock_guard lock(mutex_);
    if (board_.remove(uri)) {
        tell_owner(uri, false);
    }
}

// Asked for when the board knows: a provider that comes to have the resource meanwhile, and then
// reads the board (sidecar/bridge), hears of it by one or the other.
void subscribers::tell_owner(std::string_view uri, bool on) {
    if (resource_provider* const owner = owner_of(uri)) {
        owner->subscribed(uri, on);
    }
}

}  // namespace mcp
}  // namespace pillion
