// simulation: a server and its clients, driven by one seed, and the invariants that hold at every
// turn, whenever nothing moves, and at the end.
//
// The same seed and length give the same run, to the byte (journal). Thread: one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/model_client.hpp"
#include "sim/server_world.hpp"

namespace pillion::sim {

// What a run was like.
struct sim_figures {
    std::uint64_t hash = 0;
    std::uint64_t turns = 0;
    std::uint64_t clients = 0;
    std::uint64_t calls = 0;
    std::uint64_t answers = 0;
    std::int64_t virtual_ms = 0;
    std::size_t chunks_max = 0;
    std::size_t requests_max = 0;
};

// What a seed stands for. Some of everything in one run finds less than much of something.
struct sim_plan {
    sim_plan(base::seeded_random& random, bool long_run);

    world_plan world;
    traffic how;
    std::size_t clients = 4;
    std::int64_t length_ms = 10'000;
    std::uint64_t mischief_ms = 0;  // 0: none
    bool jumps = false;
    bool accept_fails = false;
    bool acts_any_time = false;  // not only when nothing moves
    bool ends_by_drain = false;
};

class simulation {
 public:
    // `hours`: of virtual time; 0: some seconds, as the seed says. `hourly` hears of each hour.
    simulation(std::uint64_t seed, double hours, bool traced);

    // Throws a violation.
    sim_figures run();

    std::function<void(const simulation&, std::int64_t hour)> hourly;
    const server_world& world() const { return *world_; }
    sim_figures figures() const;

 private:
    void add_client();
    void settle();
    void check_turn(std::int64_t began_ns);
    void go_on(std::int64_t until_ns);
    void mischief();
    void publish();
    void wind_down();
    void end_in_quiet();
    void end_by_drain();
    void pass_ms(std::int64_t ms);
    [[noreturn]] void fail(const std::string& why);
    std::string who_waits() const;

    base::seeded_random random_;
    journal journal_;
    sim_plan plan_;
    std::unique_ptr<server_world> world_;
    std::vector<std::shared_ptr<model_client>> clients_;
    sim_figures figures_;
    std::int64_t length_ms_;
    bool acting_ = true;
};

}  // namespace pillion::sim
