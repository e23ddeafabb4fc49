#include "mcp/token_watch.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace pillion::mcp {

namespace {

// The clock of the day may be set: it is looked at this often at least.
constexpr std::int64_t look_ms_max = 30'000;

}  // namespace

token_watch::token_watch(hub& of, io::reactor& loop) noexcept
    : hub_(of), loop_(loop), timer_(&token_watch::on_timer, this) {}

void token_watch::watch(change_listener& one, std::int64_t ends_s) noexcept {
    one.set_token_end(ends_s);
    if (ends_s < next_s_) {
        next_s_ = ends_s;
        arm();
    }
}

void token_watch::arm() noexcept {
    const std::int64_t left_ms = next_s_ * 1000 - loop_.unix_ms();
    loop_.arm_in_ms(timer_, std::clamp<std::int64_t>(left_ms, 0, look_ms_max));
}

void token_watch::on_timer(io::timer& /*self*/, void* owner) noexcept {
    token_watch& w = *static_cast<token_watch*>(owner);
    const std::int64_t now_s = w.loop_.unix_ms() / 1000;
    if (now_s >= w.next_s_) {
        w.next_s_ = w.hub_.end_tokens(now_s);
    }
    if (w.next_s_ != INT64_MAX) {
        w.arm();
    }
}

void log_token_end(std::string_view peer) noexcept {
    log::info("auth.stream_ended",
              {log::kv("peer", peer), log::kv("reason", "what it was let in by has ended")});
}

}  // namespace pillion::mcp
