// schedule: when requests are due in open loop: at a fixed rate, or at one that goes evenly from
// one value to another; and how rates and numbers of connections are said on the command line.
//
// Thread-safety: immutable values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pillion::load {

class schedule {
 public:
    // Closed loop: nothing is ever due.
    schedule() = default;
    // `from` requests a second during the warm-up, then evenly on to `to` at the end of the
    // duration, and so on from there. A duration of 0 has no end, and a fixed rate.
    schedule(double from, double to, std::int64_t warm_up_ns, std::int64_t duration_ns) noexcept
        : from_(from),
          to_(duration_ns > 0 ? to : from),
          warm_up_s_(static_cast<double>(warm_up_ns) / 1e9),
          duration_s_(static_cast<double>(duration_ns) / 1e9) {}

    bool is_open() const noexcept { return from_ > 0; }
    // Of the request `number`, counted from 0, since the beginning of the warm-up. REQUIRES: open.
    std::int64_t due_ns(std::uint64_t number) const noexcept;
    // Requests a second at that time since the end of the warm-up; 0 in closed loop.
    double rate_at(double s) const noexcept;

 private:
    double from_ = 0;
    double to_ = 0;
    double warm_up_s_ = 0;
    double duration_s_ = 0;
};

// "500", "500..5000" (a ramp) or "500,1000,2000" (one run each).
struct rate_words {
    double from = 0;
    double to = 0;
    std::vector<double> steps;  // empty where there is one run
};
// False for anything else, and for rates outside of [0.001, 10 million].
bool parse_rates(std::string_view text, rate_words& to);

// "64" or "1,16,64". False for anything else, and for numbers outside of [1, most].
bool parse_connections(std::string_view text, std::size_t most, std::vector<std::size_t>& to);

}  // namespace pillion::load
