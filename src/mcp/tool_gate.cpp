#include "mcp/tool_gate.hpp"

#include <algorithm>

#include "mcp/engine.hpp"

namespace pillion::mcp {

std::shared_ptr<tool_gate> make_tool_gate(const detail::tool_limits& calls) {
    if (calls.per_second <= 0 && calls.concurrent == 0) {
        return nullptr;
    }
    const auto rate = calls.per_second > 0 ? bucket_rate::of(calls.per_second,
                                                             static_cast<std::int64_t>(calls.burst))
                                           : bucket_rate();
    return std::make_shared<tool_gate>(rate, calls.concurrent, calls.queue);
}

bool tool_gate::take_place() noexcept {
    std::size_t seen = running_.load(std::memory_order_seq_cst);
    while (seen < concurrent_max_) {
        if (running_.compare_exchange_weak(seen, seen + 1, std::memory_order_seq_cst)) {
            return true;
        }
    }
    return false;
}

bool tool_gate::try_enter() noexcept {
    return waiting_.load(std::memory_order_seq_cst) == 0 && take_place();
}

void tool_gate::exit(engine& on, std::int64_t took_ns) noexcept {
    if (took_ns >= 0) {
        learn(took_ns);
    }
    // Who leaves looks at the queue second, who waits looks at the places second: one of the two
    // always sees the other (hence seq_cst).
    running_.fetch_sub(1, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst) > 0) {
        hand_out_and_wake(on);
    }
}

// An eighth of what is new. Two threads at once may lose one of their calls, which does not matter.
void tool_gate::learn(std::int64_t took_ns) noexcept {
    const std::int64_t before = average_ns_.load(std::memory_order_relaxed);
    const std::int64_t after = before == 0 ? took_ns : before + (took_ns - before) / 8;
    average_ns_.store(std::max<std::int64_t>(after, 1), std::memory_order_relaxed);
}

std::int64_t tool_gate::expected_wait_ns(std::size_t ahead) const noexcept {
    // With all places taken one is free after every average divided by the places.
    constexpr double longest_ns = 3600e9;
    const double average = static_cast<double>(average_ns_.load(std::memory_order_relaxed));
    const double wait =
        average * static_cast<double>(ahead + 1) / static_cast<double>(concurrent_max_);
    return static_cast<std::int64_t>(std::min(wait, longest_ns));
}

tool_gate::outcome tool_gate::enqueue(engine& on, queued_call& one, std::int64_t at_most_ns,
                                      std::int64_t& wait_ns) {
    bool mine = false;
    {
        const std::lock_guard lock(mutex_);
        const std::size_t ahead = waiting_.load(std::memory_order_relaxed);
        wait_ns = expected_wait_ns(ahead);
        if (ahead >= queue_max_) {
            return outcome::full;
        }
        if (wait_ns > at_most_ns) {
            return outcome::late;
        }
        queue_.push_back(one);
        one.queued_ = true;
        waiting_.fetch_add(1, std::memory_order_seq_cst);
        mine = hand_out(on);
    }
    if (mine) {
        on.limits().wake_granted();
    }
    return outcome::waits;
}

void tool_gate::leave(engine& on, queued_call& one) noexcept {
    bool granted = false;
    {
        const std::lock_guard lock(mutex_);
        granted = one.granted_.load(std::memory_order_relaxed);
        if (!granted) {
            static_cast<base::list_hook<gate_queue_tag>&>(one).unlink();
            waiting_.fetch_sub(1, std::memory_order_seq_cst);
        }
    }
    if (granted && !one.taken_) {
        exit(on, -1);
    }
}

bool tool_gate::hand_out(engine& on) noexcept {
    bool mine = false;
    while (!queue_.empty() && take_place()) {
        queued_call& first = *queue_.pop_front();
        waiting_.fetch_sub(1, std::memory_order_seq_cst);
        // It cannot die before the lock is given up: leave() takes that, too.
        const std::size_t shard = first.engine_.shard();
        first.granted_.store(true, std::memory_order_release);
        if (shard == on.shard()) {
            mine = true;
        } else {
            on.shared().post_to(shard, [](engine& there) { there.limits().wake_granted(); });
        }
    }
    return mine;
}

void tool_gate::hand_out_and_wake(engine& on) noexcept {
    bool mine = false;
    {
        const std::lock_guard lock(mutex_);
        mine = hand_out(on);
    }
    if (mine) {
        on.limits().wake_granted();
    }
}

tool_gate::outcome queued_call::enqueue(std::int64_t at_most_ns, std::int64_t& wait_ns) {
    // First, so that a place given at once is found.
    engine_.limits().add(*this);
    return gate_.enqueue(engine_, *this, at_most_ns, wait_ns);
}

queued_call::~queued_call() {
    static_cast<base::list_hook<>&>(*this).unlink();
    if (queued_) {
        gate_.leave(engine_, *this);
    }
}

tool_place::tool_place(engine& on, tool_gate& gate) noexcept
    : engine_(on), gate_(gate), since_ns_(on.loop().clock_ns()) {}

tool_place::~tool_place() { gate_.exit(engine_, engine_.loop().clock_ns() - since_ns_); }

}  // namespace pillion::mcp
