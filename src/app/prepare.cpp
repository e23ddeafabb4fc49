#include "app/prepare.hpp"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "app/server_state.hpp"
#include "base/log.hpp"
#include "mcp/access_check.hpp"
#include "mcp/conventions.hpp"
#include "mcp/operator_limits.hpp"

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

// The first fault of the names of checks; empty when there is none.
std::string fault_of(const std::vector<mcp::ready_check>& checks) {
    std::set<std::string_view> names = {"accepting", "configuration", "tasks", "issuer_keys"};
    for (const mcp::ready_check& c : checks) {
        const bool plain =
            !c.name.empty() &&
            c.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == c.name.npos;
        if (!plain || !c.good || !names.insert(c.name).second) {
            return "ready_check \"" + c.name + "\": " +
                   (!plain    ? "the name must be of a-z, 0-9 and _"
                    : !c.good ? "there is no function"
                              : "there is one of this name already");
        }
    }
    return {};
}

}  // namespace

std::unique_ptr<const mcp::registry> prepare(server& s, std::string& fault,
                                             const detail::expected_names& expected) {
    const auto hooks = std::exchange(s.state().hooks, {});
    for (const auto& hook : hooks) {
        const result<void> started = hook(s);
        if (!started) {
            fault = started.error().detail;
            return nullptr;
        }
    }
    fault = fault_of(s.state().checks);
    if (!fault.empty()) {
        return nullptr;
    }
    std::vector<std::string> warnings;
    mcp::apply_operator_limits(s.state().defs, warnings, 0, expected);
    mcp::apply_operator_icons(s.state().defs, warnings, 0, expected);
    // A rule that protects nothing is none. What comes later comes with its rule (server::update).
    if (!mcp::apply_operator_scopes(s.state().defs, fault, 0, expected)) {
        return nullptr;
    }
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
