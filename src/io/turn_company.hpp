// turn_company: for how many receives uring_backend waits together.
//
// With many connections clients are as busy as the server, so each of their requests finds it
// asleep, or makes a turn of its own: a wake-up, a system call and their locks for each. Waiting a
// little for company costs a crowd little, since its other requests are under way meanwhile. A few
// connections would wait for one another's answers: they are never kept waiting.
// The mark of who was heard is in two bits of op::flags, which the backend owns. Thread: its shard.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "io/op.hpp"

namespace pillion::io {

class turn_company {
 public:
    static constexpr std::uint8_t flags_epoch = 64 | 128;

    static constexpr std::size_t receives_min = 8;  // waiting for fewer saves less than it costs
    static constexpr std::size_t receives_max = 64;
    static constexpr std::size_t part_of_crowd = 16;  // so from 128 connections on
    static constexpr std::size_t wait_max_us = 100;
    // The crowd is whoever was heard in so many receives, which takes 25 ms at full speed: those
    // who are only connected don't count.
    static constexpr std::size_t epoch_receives = 4096;

    struct wait {
        unsigned receives = 0;  // 0: don't wait for more than the first
        std::uint32_t us = 0;   // no longer than this
    };

    // One got bytes.
    void heard(op& from) noexcept {
        if ((from.flags & flags_epoch) != epoch_) {
            from.flags = static_cast<std::uint8_t>((from.flags & ~flags_epoch) | epoch_);
            ++heard_;
        }
    }

    // A turn is over, in which so many got bytes; `waited`: it was not only a look at what is
    // there. One of few among those of many was a client's pause: what is expected falls by a
    // quarter.
    void turned(std::size_t received, bool waited) noexcept {
        expected_ = std::max(received, waited ? expected_ * 3 / 4 : expected_);
        in_epoch_ += received;
        if (in_epoch_ >= epoch_receives) {
            crowd_ = heard_;
            heard_ = 0;
            in_epoch_ = 0;
            epoch_ = epoch_ == flags_epoch ? epoch_first
                                           : static_cast<std::uint8_t>(epoch_ + epoch_first);
        }
    }

    // For the next turn, where the first timer is due in `due_ns` (negative: none is). For twice as
    // many as came lately, so turns grow while that is worth it; for a fraction of the time that
    // those took, so that it ends where the server is not busy.
    wait next(std::int64_t due_ns) const noexcept {
        constexpr std::int64_t soon_ns = 2 * 1000 * static_cast<std::int64_t>(wait_max_us);
        const std::size_t many = std::min({2 * expected_, crowd_ / part_of_crowd, receives_max});
        if (expected_ < receives_min || many < receives_min || (due_ns >= 0 && due_ns < soon_ns)) {
            return {};
        }
        return {static_cast<unsigned>(many),
                static_cast<std::uint32_t>(std::min(us_per_receive * expected_, wait_max_us))};
    }

 private:
    static constexpr std::size_t us_per_receive = 2;  // an answer takes three times that
    static constexpr std::uint8_t epoch_first = 64;

    std::size_t expected_ = 0;          // in the next turn
    std::size_t crowd_ = 0;             // heard in the last epoch
    std::size_t heard_ = 0;             // in this one
    std::size_t in_epoch_ = 0;          // receives of it
    std::uint8_t epoch_ = epoch_first;  // as it is marked; 0 is who was not heard yet
};

}  // namespace pillion::io
