// limit_guard: sets an event when a time has passed, unless it is gone by then. Lives in the frame
// of the coroutine that waits for that event or something else that sets it. Thread: its shard.
#pragma once

#include "coro/sync.hpp"
#include "io/reactor.hpp"

namespace pillion::mcp {

class limit_guard {
 public:
    limit_guard(io::reactor& loop, std::int64_t limit_ms, coro::event& wake) noexcept
        : wake_(wake), timer_(&limit_guard::on_time, this) {
        loop.arm_in_ms(timer_, limit_ms);
    }
    // True when it was the time that set the event.
    bool passed() const noexcept { return passed_; }

 private:
    static void on_time(io::timer& /*self*/, void* owner) noexcept {
        auto& me = *static_cast<limit_guard*>(owner);
        me.passed_ = true;
        me.wake_.set();
    }

    coro::event& wake_;
    io::timer timer_;
    bool passed_ = false;
};

}  // namespace pillion::mcp
