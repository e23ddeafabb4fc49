#include "sim/sim_world.hpp"

namespace pillion::sim {

std::size_t sim_world::run(std::size_t turns_max) {
    // The dispatch after an idle-looking turn may have produced output: two in a row count.
    int idle_turns = 0;
    for (std::size_t turn = 0; turn < turns_max; ++turn) {
        reactor_.run_one(INT64_MAX);
        const bool quiet =
            sim_->idle() && reactor_.timers().armed() == 0 && coro::ready_queue::current().empty();
        idle_turns = quiet ? idle_turns + 1 : 0;
        if (idle_turns == 2) {
            return turn + 1;
        }
    }
    return turns_max;
}

void sim_world::run_for_ms(std::int64_t ms) {
    // An event at the end bounds every wait.
    const std::int64_t end = sim_->now_ns() + ms * 1'000'000;
    sim_->at(ms * 1'000'000, [] {});
    while (sim_->now_ns() < end) {
        reactor_.run_one(INT64_MAX);
    }
    reactor_.run_one(0);
}

std::string sim_world::leftovers() const {
    auto& loop = const_cast<io::reactor&>(reactor_);
    std::string left;
    const auto count = [&left](const char* what, std::size_t n) {
        if (n > 0) {
            left += std::to_string(n) + " " + what + "; ";
        }
    };
    count("operations in flight", sim_->in_flight());
    count("buffers lent", sim_->buffers_lent());
    count("chunks taken", loop.chunks().live());
    count("timers armed", loop.timers().armed());
    count("sockets open", sim_->open_sockets());
    return left;
}

}  // namespace pillion::sim
