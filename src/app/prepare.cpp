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

void check_names(const std::vector<mcp::ready_check>& checks, mcp::registration_faults& faults) {
    std::set<std::string_view> names = {"accepting", "configuration", "tasks", "issuer_keys"};
    for (const mcp::ready_check& c : checks) {
        mcp::faults_of_one wrong(faults, "", "", "ready_check \"" + c.name + "\"");
        if (c.name.empty() ||
            c.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != c.name.npos) {
            wrong.add("the name must be of a-z, 0-9 and _");
        } else if (!c.good) {
            wrong.add("there is no function");
        } else if (!names.insert(c.name).second) {
            wrong.add("there is one of this name already");
        }
    }
}

void run_hooks(server& s, mcp::registration_faults& faults) {
    const auto hooks = std::exchange(s.state().hooks, {});
    for (const auto& hook : hooks) {
        const result<void> started = hook(s);
        if (!started) {
            faults.add({"", "", "", started.error().detail});
            break;  // the next one may need what this one makes
        }
    }
    faults.add_all(std::exchange(s.state().faults, {}));
}

}  // namespace

std::unique_ptr<const mcp::registry> prepare(server& s, mcp::registration_faults& faults,
                                             const detail::expected_names& expected) {
    mcp::registration_faults found;
    run_hooks(s, found);
    const bool complete = found.empty();
    check_names(s.state().checks, found);
    std::vector<std::string> warnings;
    mcp::apply_operator_limits(s.state().defs, warnings, 0, expected);
    mcp::apply_operator_icons(s.state().defs, warnings, 0, expected);
    // A rule that protects nothing is none. What comes later comes with its rule (server::update),
    // and what is not there may only be missing because of a hook that failed.
    mcp::registration_faults unknown;
    mcp::apply_operator_scopes(s.state().defs, unknown, 0, expected);
    if (complete) {
        found.add_all(std::move(unknown));
    } else {
        warnings.clear();
    }
    auto frozen = mcp::registry::freeze(s.state().defs, found, warnings);
    for (const std::string& warning : warnings) {
        log::warn("registry.warning", {log::kv("text", warning)});
    }
    if (frozen != nullptr && !frozen->corporate()) {
        note_conventions(s.state().defs);
    }
    const bool good = found.empty();
    faults.add_all(std::move(found));
    return good ? std::move(frozen) : nullptr;
}

}  // namespace pillion::app
