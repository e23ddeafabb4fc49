// server_world: the whole server (listeners, HTTP, transport, engine, sessions, tasks, shutdown) as
// the program runs it, one or two shards of it, over simulated networks with one clock. Two shards
// take turns on one thread: what they do at the same time is interleaved in every order of turns.
//
// Thread: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "app/settings.hpp"
#include "app/shard.hpp"
#include "base/random.hpp"
#include "mcp/service.hpp"
#include "sim/sim_backend.hpp"
#include "sim/sim_tools.hpp"

namespace pillion::sim {

struct world_plan {
    std::size_t shards = 1;
    std::int64_t timeout_ms = 2000;
    std::int64_t session_idle_ms = 60'000;
    std::int64_t drain_timeout_ms = 5000;
    sim_options net;
};

class server_world {
 public:
    server_world(const world_plan& plan, base::seeded_random& random);
    server_world(const server_world&) = delete;
    server_world& operator=(const server_world&) = delete;
    ~server_world();

    // After close() the time of that: the clock is the network's.
    std::int64_t now_ns() const { return closed_ns_ >= 0 ? closed_ns_ : nets_[0]->now_ns(); }
    // What a loop may still have taken for the time in the turn that has just ended.
    std::int64_t stale_ns() const { return stale_ns_; }
    // Runs `what` between two turns when this time has passed.
    void at(std::int64_t delay_ms, std::function<void()> what);
    // One turn of every shard. False when nothing moved.
    bool turn();
    // Lets time pass to the next thing that is due, but not beyond `until_ns`.
    void pass(std::int64_t until_ns);
    void jump(std::int64_t ms) {
        nets_[0]->advance(ms * 1'000'000);
        leap_ns_ = std::max(leap_ns_, ms * 1'000'000);
    }
    // By how much time has leapt at most while bytes were under way.
    std::int64_t leap_ns() const { return leap_ns_; }

    // A client connects to either shard.
    std::size_t shards() const { return nets_.size(); }
    sim_backend& net(std::size_t shard) { return *nets_[shard]; }
    sim_peer connect(std::size_t shard) { return nets_[shard]->connect(listeners_[shard]); }

    void drain();
    bool draining() const { return draining_; }
    bool drained() const;
    // Closes what is left of the shards. REQUIRES: drained(). "" when nothing was left behind.
    std::string close();

    // What the server holds, of all shards.
    std::size_t requests() const;
    std::size_t questions() const;
    std::size_t chunks() const;
    std::size_t sockets() const;
    std::size_t timers() const;
    std::size_t operations() const;
    std::size_t sessions() const { return service_->sessions().size(); }
    std::size_t tasks() const;
    std::size_t task_bytes() const;
    std::uint64_t turns() const { return turns_; }
    // Whoever listened is heard of no more: waits that the closed listeners never took.
    void turn_away();

    stage on;
    server host;

 private:
    // Runs the work after a while, and reports in a turn of its home.
    class late_offload final : public io::offload {
     public:
        explicit late_offload(server_world& in) : in_(in) {}
        bool submit(io::reactor& home, base::unique_function<void()> work,
                    base::unique_function<void()> done_on_home) override;

     private:
        server_world& in_;
    };
    struct event {
        std::int64_t due_ns;
        std::uint64_t order;
        std::shared_ptr<std::function<void()>> run;
        bool operator<(const event& other) const {
            return due_ns != other.due_ns ? due_ns > other.due_ns : order > other.order;
        }
    };
    bool run_due();
    io::reactor& loop(std::size_t shard) const { return shards_[shard]->loop(); }

    base::seeded_random& random_;
    late_offload helpers_{*this};
    std::shared_ptr<mcp::task_store> tasks_;
    std::shared_ptr<app::settings> settings_;
    std::unique_ptr<mcp::service> service_;
    std::vector<std::unique_ptr<app::shard>> shards_;
    std::vector<sim_backend*> nets_;  // the shards own them
    std::vector<int> listeners_;
    std::priority_queue<event> agenda_;
    std::uint64_t order_ = 0;
    std::uint64_t turns_ = 0;
    std::int64_t began_ns_ = 0;
    std::int64_t stale_ns_ = 0;
    std::int64_t closed_ns_ = -1;
    std::int64_t leap_ns_ = 0;
    bool draining_ = false;
};

}  // namespace pillion::sim
