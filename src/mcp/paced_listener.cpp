#include "mcp/paced_listener.hpp"

#include "base/limits.hpp"

namespace pillion::mcp {

void paced_listener::on_change(const change_event& event) noexcept {
    if (event.number <= told_) {
        return;
    }
    if (!behind()) {
        return hear(event);
    }
    if (engine_.now_ms() - behind_since_ms_ >= limits::listener_behind_ms) {
        on_stalled();
    }
}

void paced_listener::hear(const change_event& event) noexcept {
    told_ = event.number;
    if (!tell(event)) {
        fall_behind();
    }
}

void paced_listener::catch_up() noexcept {
    if (!behind()) {
        return;
    }
    behind_since_ms_ = -1;
    // What this shard has not heard of yet comes by itself.
    const std::uint64_t heard = engine_.changes().heard();
    for (const auto& c : engine_.shared().changes().since(told_)) {
        if (c.number > heard || behind()) {
            return;
        }
        hear({c.what, c.uri, c.number});
    }
}

}  // namespace pillion::mcp
