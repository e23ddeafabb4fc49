#include "sidecar/breaker.hpp"

#include <algorithm>

namespace pillion::sidecar {

namespace {
constexpr auto relaxed = std::memory_order_relaxed;
}  // namespace

breaker::permit breaker::ask(bool harmless, std::int64_t now_ms) noexcept {
    permit out;
    out.era = era_.load(relaxed);
    const std::int64_t until = open_until_.load(relaxed);
    if (until == 0) {
        out.given = true;
        return out;
    }
    const bool due = now_ms >= (harmless ? until : until + open_ms_);
    out.given = out.probe = due && !trying_.exchange(true, relaxed);
    return out;
}

void breaker::tell(const permit& of, outcome what, std::int64_t now_ms) noexcept {
    if (of.probe) {
        if (what == outcome::good) {
            failures_.store(0, relaxed);
            era_.fetch_add(1, relaxed);
            open_until_.store(0, relaxed);
        } else if (what == outcome::bad) {
            open(now_ms);
        }
        trying_.store(false, relaxed);
        return;
    }
    if (of.era != era_.load(relaxed) || what == outcome::unknown) {
        return;
    }
    if (what == outcome::good) {
        failures_.store(0, relaxed);
    } else if (failures_.fetch_add(1, relaxed) + 1 >= failures_max_ && failures_max_ > 0) {
        open(now_ms);
    }
}

void breaker::open(std::int64_t now_ms) noexcept {
    era_.fetch_add(1, relaxed);
    open_until_.store(now_ms + open_ms_, relaxed);
}

std::int64_t breaker::closed_for_ms(std::int64_t now_ms) const noexcept {
    const std::int64_t until = open_until_.load(relaxed);
    return until == 0 ? 0 : std::max<std::int64_t>(until - now_ms, 0);
}

void retry_budget::asked() noexcept {
    if (left_.load(relaxed) < most) {
        left_.fetch_add(1, relaxed);
    }
}

bool retry_budget::spend() noexcept {
    int left = left_.load(relaxed);
    while (left >= price) {
        if (left_.compare_exchange_weak(left, left - price, relaxed)) {
            return true;
        }
    }
    return false;
}

}  // namespace pillion::sidecar
