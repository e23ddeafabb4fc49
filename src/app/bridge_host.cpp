#include "app/bridge_host.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "app/server_state.hpp"
#include "base/log.hpp"
#include "io/signals.hpp"
#include "mcp/access_check.hpp"
#include "mcp/operator_limits.hpp"
#include "sidecar/bridge_offer.hpp"
#include "sidecar/child_link.hpp"
#include "sidecar/http_link.hpp"

namespace pillion::app {

void bridge_host::bring_up(io::reactor& loop, const std::vector<sidecar::bridge_spec>& all) {
    constexpr std::int64_t patience_ns = 20'000'000'000;
    constexpr std::int64_t turn_ns = 10'000'000;
    if (server_.state().bridged == nullptr) {
        return;
    }
    const auto link = [this](io::reactor& home, const sidecar::bridge_spec& what) {
        return what.argv.empty() ? sidecar::link_to_url(home, helpers_, what)
                                 : sidecar::link_to_child(home, what);
    };
    bridge_ = std::make_unique<sidecar::bridge>(server_, server_.state().bridged, shared_.changes(),
                                                link);
    bridge_->start(loop, all);
    const std::int64_t until = loop.now_ns() + patience_ns;
    while (!bridge_->settled() && loop.now_ns() < until && !io::signal_watch::end_is_pending()) {
        loop.run_one(turn_ns);
    }
    const std::string faults = bridge_->faults();
    if (!faults.empty()) {
        log::warn("bridge.incomplete", {log::kv("servers", faults)});
    }
    note_unknown(all);
}

// What the configuration says of tools and prompts that servers might have had, and have not. It
// counts as soon as one has them, but the name may be a wrong one.
void bridge_host::note_unknown(const std::vector<sidecar::bridge_spec>& all) {
    std::vector<std::string> warnings;
    mcp::registration_faults unknown;
    {
        const std::lock_guard lock(server_.state().update_mutex);
        detail::definitions& now = server_.state().defs;
        // Of others prepare() has spoken.
        const auto was_told = [&all](const std::string& name) {
            return !sidecar::may_offer(all, name);
        };
        // It is put into no definition: all are in use.
        mcp::apply_operator_limits(now, warnings, now.registrations, was_told);
        mcp::apply_operator_icons(now, warnings, now.registrations, was_told);
        mcp::apply_operator_scopes(now, unknown, now.registrations, was_told);
    }
    for (mcp::registration_fault& one : unknown) {
        warnings.push_back(std::move(one.text));
    }
    for (const std::string& one : warnings) {
        log::warn("registry.warning", {log::kv("text", one)});
    }
}

void bridge_host::change(const std::vector<sidecar::bridge_spec>& to) {
    if (bridge_ != nullptr) {
        bridge_->change(to);
    } else if (!to.empty()) {
        log::warn("config.needs_restart", {log::kv("keys", "servers")});
    }
}

void bridge_host::close() noexcept {
    if (bridge_ != nullptr) {
        bridge_->close();
    }
}

}  // namespace pillion::app
