// tool_gate: how many calls of a tool run at a time, who waits for a place, and how often it may be
// called. One for all shards; made with the tool's definition and kept as long as that.
//
// A place is an atomic count; nobody takes the lock unless somebody waits. Those that wait stand in
// one queue, first come, first served, whatever their shard. Whether one more would get its turn
// before its deadline is estimated from a moving average of the time calls take.
//
// Thread-safety: any thread, but a queued_call belongs to its shard.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/intrusive_list.hpp"
#include "coro/sync.hpp"
#include "mcp/definitions.hpp"
#include "mcp/token_bucket.hpp"

namespace pillion::mcp {

class engine;
class queued_call;
struct fault;

struct gate_queue_tag {};
struct gate_shard_tag {};

class tool_gate {
 public:
    // `concurrent_max` 0: any number, and nobody waits.
    tool_gate(const bucket_rate& rate, std::size_t concurrent_max, std::size_t queue_max) noexcept
        : rate_(rate), concurrent_max_(concurrent_max), queue_max_(queue_max) {}
    tool_gate(const tool_gate&) = delete;
    tool_gate& operator=(const tool_gate&) = delete;

    // By the tool's rate: 0, or the nanoseconds until it may be called again.
    std::int64_t take(std::int64_t now_ns) noexcept {
        return rate_.limited() ? bucket_.take(rate_, now_ns) : 0;
    }
    bool has_places() const noexcept { return concurrent_max_ > 0; }

    // Takes a place, if there is one and nobody waits. REQUIRES: has_places().
    bool try_enter() noexcept;
    // Gives a place back, or on to whoever waits first. `took_ns`: how long the call had it;
    // negative: not at all, it says nothing about the tool.
    void exit(engine& on, std::int64_t took_ns) noexcept;

    // How long the call behind `ahead` others would wait, as far as is known.
    std::int64_t expected_wait_ns(std::size_t ahead) const noexcept;

    // Puts a call into the queue: false when that is full (full) or its turn would come later than
    // `at_most_ns` from now (late); `wait_ns` is then the time after which to try again.
    enum class outcome : std::uint8_t { waits, full, late };
    outcome enqueue(engine& on, queued_call& one, std::int64_t at_most_ns, std::int64_t& wait_ns);
    // Takes it out again, wherever it is; a place it was given goes on to the next.
    void leave(engine& on, queued_call& one) noexcept;

    std::size_t running() const noexcept { return running_.load(std::memory_order_relaxed); }
    std::size_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

 private:
    bool take_place() noexcept;
    void learn(std::int64_t took_ns) noexcept;
    // Gives free places to those in front; true when one of them is of this shard.
    bool hand_out(engine& on) noexcept;
    void hand_out_and_wake(engine& on) noexcept;

    const bucket_rate rate_;
    const std::size_t concurrent_max_;
    const std::size_t queue_max_;
    token_bucket bucket_;
    std::atomic<std::size_t> running_{0};
    std::atomic<std::size_t> waiting_{0};
    std::atomic<std::int64_t> average_ns_{0};  // 0: not known
    std::mutex mutex_;                         // guards what follows
    base::intrusive_list<queued_call, gate_queue_tag> queue_;
};

// The gate of a tool with these limits; null when there are none. `calls` is valid.
std::shared_ptr<tool_gate> make_tool_gate(const detail::tool_limits& calls);

// A call that waits for its place; lives in the frame of its coroutine.
class queued_call : public base::list_hook<gate_queue_tag>, public base::list_hook<> {
 public:
    queued_call(engine& on, tool_gate& gate) noexcept : engine_(on), gate_(gate) {}
    queued_call(const queued_call&) = delete;
    queued_call& operator=(const queued_call&) = delete;
    // Leaves the queue; gives back a place that was not taken.
    ~queued_call();

    tool_gate::outcome enqueue(std::int64_t at_most_ns, std::int64_t& wait_ns);
    // Set when there is a place.
    coro::event& turn() noexcept { return turn_; }
    // From now on the place is somebody else's to give back.
    void take_place() noexcept { taken_ = true; }
    void wake_if_granted() noexcept {
        if (granted_.load(std::memory_order_acquire)) {
            turn_.set();
        }
    }

 private:
    friend class tool_gate;

    engine& engine_;
    tool_gate& gate_;
    coro::event turn_;
    bool queued_ = false;
    bool taken_ = false;
    std::atomic<bool> granted_{false};
};

// A place in a tool, from its turn to the end of its call. Outlives the request.
class tool_place {
 public:
    tool_place(engine& on, tool_gate& gate) noexcept;
    tool_place(const tool_place&) = delete;
    tool_place& operator=(const tool_place&) = delete;
    ~tool_place();

 private:
    engine& engine_;
    tool_gate& gate_;
    std::int64_t since_ns_;
};

}  // namespace pillion::mcp
