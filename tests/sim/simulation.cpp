#include "sim/simulation.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/hash.hpp"
#include "coro/frame_pool.hpp"
#include "sim/seeded_entropy.hpp"

namespace pillion::sim {

namespace {

// Far above what the traffic needs, far below what a leak would reach.
constexpr std::size_t chunks_ceiling = 6000;
constexpr std::size_t requests_ceiling = 1500;
constexpr std::size_t frames_ceiling = 6000;
constexpr std::size_t turns_to_rest_max = 200'000;
constexpr std::int64_t tick_ns = 1'000'000;

}  // namespace

sim_plan::sim_plan(base::seeded_random& r, bool long_run) {
    const auto up_to = [&r](std::uint64_t most) { return r.one_in(3) ? 0 : r.below(most + 1); };
    world.shards = r.one_in(3) ? 2 : 1;
    world.timeout_ms = r.one_in(3) ? 300 : 2000;
    world.drain_timeout_ms = r.one_in(3) ? 1000 : 5000;
    world.net.random_sizes = !r.one_in(3);
    world.net.shuffle = !r.one_in(3);
    world.net.cancel_random = !r.one_in(3);
    world.net.cancel_loses = r.one_in(2);
    world.net.recv_buffers = r.one_in(3) ? 2 : 16;
    world.net.recv_buffer_bytes = r.one_in(4) ? 256 : 4096;
    world.net.receive_max = r.one_in(4) ? 200 : 0;
    world.net.send_max = r.one_in(4) ? 3000 : 0;
    world.net.no_buffer_one_in = r.one_in(3) ? 5 : 0;
    how.pause_ms = r.one_in(3) ? 50 : 500;
    how.calls = 4 + r.below(12);
    how.plain = up_to(6);
    how.cancels = up_to(6);
    how.departures = up_to(5);
    how.blocks = up_to(3);
    how.streams = up_to(4);
    how.garbage = up_to(2);
    how.parts = up_to(3);
    how.tasks = up_to(5);
    how.farewells = up_to(1);
    how.hold_up = r.one_in(4);
    clients = 1 + r.below(5);
    length_ms = r.one_in(30) ? 20'000 : 200 + static_cast<std::int64_t>(r.below(1500));
    mischief_ms = r.one_in(3) ? 0 : 2000;
    jumps = r.one_in(4);
    accept_fails = r.one_in(3);
    acts_any_time = r.one_in(2);
    ends_by_drain = r.one_in(3);
    how.leaps = jumps || how.hold_up;
    if (long_run) {
        // Everything at once, at a pace that fills days.
        how = {};
        how.pause_ms = 4000;
        how.farewells = 1;
        how.hold_up = how.leaps = true;
        clients = 10;
        mischief_ms = 20'000;
        jumps = accept_fails = true;
        ends_by_drain = false;
    }
}

simulation::simulation(std::uint64_t seed, double hours, bool traced)
    : random_(seed),
      journal_(traced),
      plan_(random_, hours > 0),
      length_ms_(hours > 0 ? static_cast<std::int64_t>(hours * 3'600'000) : plan_.length_ms) {
    // The key of the hash tables is the process's: the same for each seed.
    seed_entropy(0);
    base::process_hash_key();
    seed_entropy(seed);
    world_ = std::make_unique<server_world>(plan_.world, random_);
}

void simulation::fail(const std::string& why) { throw violation("the server: " + why); }

void simulation::add_client() {
    const auto speaks = static_cast<dialect>(random_.below(6));
    clients_.push_back(std::make_shared<model_client>(*world_, journal_, random_, plan_.how, speaks,
                                                      "c" + std::to_string(figures_.clients++)));
}

// Turns until nothing moves. What is owed at once must be there then.
void simulation::settle() {
    // What one shard tells the other moves unseen for some turns.
    const int enough = world_->shards() > 1 ? 8 : 4;
    int still = 0;
    for (std::size_t turns = 0; still < enough; ++turns) {
        if (turns > turns_to_rest_max) {
            fail("it never comes to rest");
        }
        const std::int64_t began_ns = world_->now_ns();
        still = world_->turn() ? 0 : still + 1;
        for (const auto& c : clients_) {
            c->observe();
        }
        check_turn(began_ns);
        if (acting_ && plan_.acts_any_time && !clients_.empty() && random_.one_in(40)) {
            clients_[random_.below(clients_.size())]->act();
            still = 0;
        }
    }
    for (const auto& c : clients_) {
        c->check_quiet();
    }
}

void simulation::check_turn(std::int64_t began_ns) {
    figures_.chunks_max = std::max(figures_.chunks_max, world_->chunks());
    figures_.requests_max = std::max(figures_.requests_max, world_->requests());
    if (world_->chunks() > chunks_ceiling || world_->requests() > requests_ceiling ||
        coro::frame_pool::live() > frames_ceiling) {
        fail("too much is held: " + std::to_string(world_->chunks()) + " chunks, " +
             std::to_string(world_->requests()) + " requests, " +
             std::to_string(coro::frame_pool::live()) + " frames");
    }
    for (const auto& [tag, v] : world_->on.inside) {
        // This turn began behind the deadline by more than a tick of the timers.
        if (v->due_ns() < began_ns - tick_ns && !v->of().stopped() && !v->of().is_task()) {
            fail("the deadline of " + tag + " has passed without a word");
        }
    }
}

void simulation::go_on(std::int64_t until_ns) {
    while (world_->now_ns() < until_ns) {
        settle();
        std::int64_t next = until_ns;
        bool acted = false;
        for (std::size_t i = 0; acting_ && i < clients_.size(); ++i) {
            if (clients_[i]->left()) {
                figures_.calls += clients_[i]->calls_made();
                figures_.answers += clients_[i]->answers();
                clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
                add_client();
            }
            if (clients_[i]->next_ns() <= world_->now_ns()) {
                clients_[i]->act();
                acted = true;
                if (!plan_.acts_any_time) {
                    break;
                }
            }
            next = std::min(next, clients_[i]->next_ns());
        }
        if (!acted) {
            world_->pass(next);
        }
    }
    settle();
}

void simulation::pass_ms(std::int64_t ms) { go_on(world_->now_ns() + ms * 1'000'000); }

// What goes wrong around the server.
void simulation::mischief() {
    if (!acting_) {
        return;
    }
    const std::size_t shard = random_.below(world_->shards());
    switch (random_.below(6)) {
        case 0:
            if (plan_.accept_fails) {
                journal_.note(world_->now_ns(), "world", "EMFILE");
                world_->net(shard).fail_accepts(EMFILE, 1 + static_cast<int>(random_.below(3)));
            }
            break;
        case 1:
            if (plan_.jumps) {
                journal_.note(world_->now_ns(), "world", "jumps");
                world_->jump(
                    static_cast<std::int64_t>(random_.below(random_.one_in(4) ? 90'000 : 3000)));
            }
            break;
        case 2:
            world_->net(shard).options.no_buffer_one_in = random_.one_in(2) ? 2 : 0;
            break;
        default:
            publish();
    }
    world_->at(static_cast<std::int64_t>(1 + random_.below(plan_.mischief_ms)),
               [this] { mischief(); });
}

void simulation::publish() {
    journal_.note(world_->now_ns(), "world", "changes");
    for (std::uint64_t left = 1 + random_.below(3); left > 0; --left) {
        random_.one_in(2) ? world_->host.tools_changed() : world_->host.resource_updated("sim://a");
    }
    world_->host.tools_changed();
    for (const auto& c : clients_) {
        c->published();
    }
}

sim_figures simulation::run() {
    for (std::size_t i = 0; i < plan_.clients; ++i) {
        add_client();
    }
    if (plan_.mischief_ms > 0) {
        world_->at(static_cast<std::int64_t>(random_.below(plan_.mischief_ms)),
                   [this] { mischief(); });
    }
    constexpr std::int64_t hour_ms = 3'600'000;
    for (std::int64_t hour = 1; hour * hour_ms <= length_ms_; ++hour) {
        pass_ms(hour_ms);
        if (hourly) {
            hourly(*this, hour);
        }
    }
    pass_ms(length_ms_ % hour_ms);
    acting_ = false;
    plan_.ends_by_drain ? end_by_drain() : end_in_quiet();
    return figures();
}

sim_figures simulation::figures() const {
    sim_figures all = figures_;
    for (const auto& c : clients_) {
        all.calls += c->calls_made();
        all.answers += c->answers();
    }
    all.hash = journal_.hash();
    all.turns = world_->turns();
    all.virtual_ms = world_->now_ns() / 1'000'000;
    return all;
}

std::string simulation::who_waits() const {
    std::string out;
    for (const auto& c : clients_) {
        out += c->settled() ? "" : c->waits_for();
    }
    return out;
}

// Nobody begins anything; all that is owed must come.
void simulation::wind_down() {
    // A question may wait for five minutes, and the next one as long.
    constexpr int steps_max = 400;
    for (int i = 0; i < steps_max; ++i) {
        for (const auto& c : clients_) {
            c->wind_down();
        }
        pass_ms(i < 20 ? 500 : 5000);
        if (who_waits().empty()) {
            return;
        }
    }
    fail("it owes answers: " + who_waits());
}

void simulation::end_in_quiet() {
    wind_down();
    for (const auto& c : clients_) {
        c->leave();
    }
    pass_ms(10'000);
    const auto none = [this](const char* what, std::size_t n) {
        if (n > 0) {
            fail("it still has " + std::to_string(n) + " " + what);
        }
    };
    none("connections", world_->sockets());
    // Questions and tasks end by their limit, sessions and the rest by their age.
    constexpr std::int64_t all_questions_ms = 1'000'000;
    pass_ms(all_questions_ms + plan_.world.session_idle_ms * 2);
    none("requests", world_->requests());
    none("handlers", world_->on.inside.size());
    none("questions", world_->questions());
    none("sessions", world_->sessions());
    none("tasks", world_->tasks());
    none("bytes of tasks", world_->task_bytes());
    none("chunks", world_->chunks());
    none("operations besides accepting", world_->operations() - world_->shards());
    none("timers besides its sweep", world_->timers() - world_->shards());
    end_by_drain();
}

void simulation::end_by_drain() {
    journal_.note(world_->now_ns(), "world", "drains");
    world_->drain();
    const std::int64_t begun_ns = world_->now_ns();
    // Until stragglers are stopped and cut, and a little for their last words.
    const std::int64_t limit_ns = begun_ns + (plan_.world.drain_timeout_ms + 3000) * 1'000'000;
    while (!world_->drained()) {
        for (const auto& c : clients_) {
            c->wind_down();
        }
        pass_ms(20);
        if (world_->now_ns() > limit_ns) {
            fail("it does not end: " + std::to_string(world_->sockets()) + " connections, " +
                 std::to_string(world_->requests()) + " requests");
        }
    }
    pass_ms(20);  // each shard looks once more
    world_->turn_away();
    for (const auto& c : clients_) {
        c->observe();
    }
    const std::string left = world_->close();
    if (!left.empty()) {
        fail("left behind: " + left);
    }
}

}  // namespace pillion::sim
