// fine_timer: wakes a loop to the microsecond, for requests that are due at a time. The loop's own
// timers are of milliseconds, and so are the waits of its epoll backend.
//
// Thread: its shard.
#pragma once

#include <cstdint>

#include "io/op.hpp"
#include "io/reactor.hpp"

namespace pillion::load {

class fine_timer {
 public:
    explicit fine_timer(io::reactor& on) noexcept : loop_(on) {}
    fine_timer(const fine_timer&) = delete;
    fine_timer& operator=(const fine_timer&) = delete;
    // REQUIRES: stop() and then a turn of the loop that drained it, or start() was never called.
    ~fine_timer() = default;

    // False when the system has no descriptor.
    bool start() noexcept;
    // Ends a wait of the loop at that time (monotonic). One at a time.
    void arm(std::int64_t at_ns) noexcept;
    void stop() noexcept;

 private:
    static void on_read(io::op& self, const io::completion& what) noexcept;
    void read() noexcept;

    struct read_op : io::transfer_op {
        explicit read_op(fine_timer& t) noexcept : transfer_op(&fine_timer::on_read), owner(&t) {}
        fine_timer* owner;
    };

    io::reactor& loop_;
    read_op read_{*this};
    int fd_ = -1;
    std::int64_t armed_ns_ = 0;
    bool stopping_ = false;
    alignas(8) char expirations_[8] = {};
};

}  // namespace pillion::load
