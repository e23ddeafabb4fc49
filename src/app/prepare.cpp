#include "app/prepare.hpp"

#include <utility>
#include <vector>

#include "app/server_state.hpp"
#include "base/log.hpp"

namespace pillion::app {

std::unique_ptr<const mcp::registry> prepare(server& s, std::string& fault) {
    const auto hooks = std::exchange(s.state().hooks, {});
    for (const auto& hook : hooks) {
        const result<void> started = hook(s);
        if (!started) {
            fault = started.error().detail;
            return nullptr;
        }
    }
    std::vector<std::string> warnings;
    auto frozen = mcp::registry::freeze(s.state().defs, fault, warnings);
    for (const std::string& warning : warnings) {
        log::warn("registry.warning", {log::kv("text", warning)});
    }
    return frozen;
}

}  // namespace pillion::app
