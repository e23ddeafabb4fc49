#include "app/prepare.hpp"

#include <utility>
#include <vector>

#include "app/server_state.hpp"
#include "base/log.hpp"
#include "mcp/conventions.hpp"

namespace pillion::app {

namespace {

// Perfectly good MCP; `check --profile corporate` tells it to who wants to know.
void note_conventions(const detail::definitions& from) {
    if (log::enabled(log::level::debug)) {
        for (const mcp::finding& one : mcp::check_conventions(from)) {
            log::debug("registry.convention", {log::kv("text", one.text)});
        }
    }
}

}  // namespace

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
    if (frozen != nullptr && !frozen->corporate()) {
        note_conventions(s.state().defs);
    }
    return frozen;
}

}  // namespace pillion::app
