// sim_world: a reactor over a sim_backend, run until nothing is left to happen, and the check that
// nothing was left behind. Also the inline stand-in for the blocking pool. Thread: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "coro/ready_queue.hpp"
#include "io/blocking_pool.hpp"
#include "io/reactor.hpp"
#include "sim/sim_backend.hpp"

namespace pillion::sim {

class sim_world {
 public:
    explicit sim_world(const sim_options& options = {})
        : sim_(new sim_backend(options)), reactor_(std::unique_ptr<io::backend>(sim_)) {}

    sim_backend& net() { return *sim_; }
    io::reactor& loop() { return reactor_; }

    // Runs turns until nothing is ready, due or armed any more. Returns the turns made; asserts
    // (by returning `turns_max`) that it ends.
    std::size_t run(std::size_t turns_max = 100'000);
    // Runs for a virtual time, also when timers re-arm themselves for ever.
    void run_for_ms(std::int64_t ms);

    // "" when no operation, lent buffer, chunk, timer or open socket is left, else what is.
    std::string leftovers() const;

 private:
    sim_backend* sim_;
    io::reactor reactor_;
};

// Runs the work at once and reports in a later turn.
class inline_offload final : public io::offload {
 public:
    bool submit(io::reactor& home, base::unique_function<void()> work,
                base::unique_function<void()> done_on_home) override {
        if (full) {
            return false;
        }
        work();
        home.post(std::move(done_on_home));
        return true;
    }
    // Refuses everything, as a pool with a full queue does.
    bool full = false;
};

}  // namespace pillion::sim
