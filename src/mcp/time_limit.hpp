// time_limit: the limit of a context::within(), below the deadline of its request. Lives in the
// frame of the coroutine that waits for what is limited. Thread: its shard.
#pragma once

#include <cstdint>

#include "coro/stop.hpp"
#include "io/reactor.hpp"

namespace pillion::detail {

class time_limit {
 public:
    // Stops when `outer` does, and at `due_ns`.
    time_limit(io::reactor& loop, coro::stop_node& outer, std::int64_t due_ns) noexcept
        : stop_(&outer), due_ns_(due_ns), timer_(&time_limit::on_time, this) {
        loop.timers().arm(timer_, due_ns);
    }
    time_limit(const time_limit&) = delete;
    time_limit& operator=(const time_limit&) = delete;

    coro::stop_node& stop() noexcept { return stop_; }
    std::int64_t due_ns() const noexcept { return due_ns_; }
    // True when it was the time that stopped it.
    bool passed() const noexcept { return passed_; }

 private:
    static void on_time(io::timer& /*self*/, void* owner) noexcept {
        auto& me = *static_cast<time_limit*>(owner);
        me.passed_ = !me.stop_.requested();
        me.stop_.request(coro::stop_reason::deadline);
    }

    coro::stop_node stop_;
    std::int64_t due_ns_;
    bool passed_ = false;
    io::timer timer_;
};

}  // namespace pillion::detail
