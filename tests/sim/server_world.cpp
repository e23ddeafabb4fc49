#include "sim/server_world.hpp"

#include <algorithm>
#include <utility>

#include "app/server_state.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"
#include "coro/frame_pool.hpp"
#include "mcp/memory_task_store.hpp"

namespace pillion::sim {

namespace {

std::unique_ptr<const mcp::registry> frozen(server& s) {
    std::string fault;
    std::vector<std::string> warnings;
    auto made = mcp::registry::freeze(s.state().defs, fault, warnings);
    PILLION_ASSERT(made != nullptr);
    return made;
}

std::shared_ptr<app::settings> settings_of(const world_plan& plan,
                                           std::shared_ptr<mcp::task_store> tasks) {
    auto made = std::make_shared<app::settings>();
    made->listen.emplace_back();
    made->listen.back().host = "127.0.0.1";
    made->drain_timeout_ms = plan.drain_timeout_ms;
    made->service.request_timeout_ms = plan.timeout_ms;
    made->service.session_idle_ms = plan.session_idle_ms;
    made->service.state_keys = crypto::key_ring::random();
    made->service.tasks = std::move(tasks);
    return made;
}

}  // namespace

server_world::server_world(const world_plan& plan, base::seeded_random& random)
    : host("simulated", "1.0.0"),
      random_(random),
      tasks_(std::make_shared<mcp::memory_task_store>()),
      settings_(settings_of(plan, tasks_)) {
    log::set_level(log::level::off);
    on.now_ns = [this] { return now_ns(); };
    on.later = [this](std::int64_t ms, std::function<void()> what) { at(ms, std::move(what)); };
    on.stall = [this](std::int64_t ms) { jump(ms); };
    furnish(host, on);
    service_ = std::make_unique<mcp::service>(frozen(host), host, helpers_, plan.shards,
                                              settings_->service);
    host.state().running = service_.get();
    for (std::size_t i = 0; i < plan.shards; ++i) {
        sim_options net = plan.net;
        net.seed = random.next();
        auto made = std::make_unique<sim_backend>(net);
        nets_.push_back(made.get());
        made->share_clock(*nets_[0]);
        listeners_.push_back(made->listen());
        std::vector<io::listen_socket> sockets;
        sockets.emplace_back(listeners_.back());  // no system call knows it
        shards_.push_back(
            std::make_unique<app::shard>(*service_, settings_, i, std::move(sockets)));
        shards_.back()->open_on(std::move(made));
        shards_.back()->listen();
    }
}

server_world::~server_world() { host.state().running = nullptr; }

bool server_world::late_offload::submit(io::reactor& home, base::unique_function<void()> work,
                                        base::unique_function<void()> done_on_home) {
    auto job = std::make_shared<base::unique_function<void()>>(std::move(work));
    auto done = std::make_shared<base::unique_function<void()>>(std::move(done_on_home));
    in_.at(static_cast<std::int64_t>(in_.random_.below(30)), [&home, job, done] {
        (*job)();
        home.post(std::move(*done));
    });
    return true;
}

void server_world::at(std::int64_t delay_ms, std::function<void()> what) {
    agenda_.push({now_ns() + delay_ms * 1'000'000, order_++,
                  std::make_shared<std::function<void()>>(std::move(what))});
}

bool server_world::run_due() {
    bool ran = false;
    while (!agenda_.empty() && agenda_.top().due_ns <= now_ns()) {
        const auto run = agenda_.top().run;
        agenda_.pop();
        (*run)();
        ran = true;
    }
    return ran;
}

bool server_world::turn() {
    ++turns_;
    stale_ns_ = std::exchange(began_ns_, now_ns());
    bool moved = run_due();
    const std::size_t first = nets_.size() > 1 ? random_.below(nets_.size()) : 0;
    for (std::size_t i = 0; i < nets_.size(); ++i) {
        const std::size_t shard = (first + i) % nets_.size();
        const std::uint64_t before = nets_[shard]->completions();
        loop(shard).run_one(0);
        moved = moved || nets_[shard]->completions() != before;
    }
    return moved || !coro::ready_queue::current().empty();
}

void server_world::pass(std::int64_t until_ns) {
    std::int64_t to = until_ns;
    for (std::size_t i = 0; i < nets_.size(); ++i) {
        to = std::min(to, loop(i).timers().next_due_ns());
    }
    if (!agenda_.empty()) {
        to = std::min(to, agenda_.top().due_ns);
    }
    nets_[0]->advance(std::max<std::int64_t>(to - now_ns(), 0));
}

void server_world::drain() {
    draining_ = true;
    for (std::size_t i = 0; i < nets_.size(); ++i) {
        loop(i).post([s = shards_[i].get()] { s->drain(); });
    }
}

bool server_world::drained() const {
    return draining_ &&
           std::all_of(shards_.begin(), shards_.end(), [](const auto& s) { return s->idle(); });
}

void server_world::turn_away() {
    for (std::size_t i = 0; i < nets_.size(); ++i) {
        nets_[i]->turn_away(listeners_[i]);
    }
}

std::string server_world::close() {
    std::string left;
    const auto count = [&left](const char* what, std::size_t n) {
        if (n > 0) {
            left += std::to_string(n) + " " + what + "; ";
        }
    };
    count("sockets", sockets());
    count("requests", requests());
    count("questions", questions());
    for (const auto& s : shards_) {
        if (!s->ended_in_time()) {
            return left + "a shard was left behind";
        }
    }
    count("timers besides the sweeps and the drain's", timers() > 2 * shards() ? timers() : 0);
    if (!left.empty()) {
        return left;
    }
    closed_ns_ = now_ns();
    // Each closes with the others still there, as threads do.
    for (const auto& s : shards_) {
        s->close();
    }
    app::leak_report all;
    for (const auto& s : shards_) {
        all.ops += s->left().ops;
        all.buffers += s->left().buffers;
        all.chunks += s->left().chunks;
    }
    count("operations", all.ops);
    count("buffers", all.buffers);
    count("chunks", all.chunks);
    count("frames", coro::frame_pool::live());
    return left;
}

std::size_t server_world::requests() const {
    std::size_t n = 0;
    for (const auto& s : shards_) {
        n += s->engine().live_requests();
    }
    return n;
}

std::size_t server_world::questions() const {
    std::size_t n = 0;
    for (const auto& s : shards_) {
        n += s->engine().questions();
    }
    return n;
}

std::size_t server_world::chunks() const {
    std::size_t n = 0;
    for (const auto& s : shards_) {
        n += s->loop().chunks().live();
    }
    return n;
}

std::size_t server_world::sockets() const {
    std::size_t n = 0;
    for (const sim_backend* net : nets_) {
        n += net->open_sockets();
    }
    return n;
}

std::size_t server_world::timers() const {
    std::size_t n = 0;
    for (const auto& s : shards_) {
        n += s->loop().timers().armed();
    }
    return n;
}

std::size_t server_world::operations() const {
    std::size_t n = 0;
    for (const sim_backend* net : nets_) {
        n += net->in_flight();
    }
    return n;
}

std::size_t server_world::tasks() const {
    return static_cast<const mcp::memory_task_store&>(*tasks_).size();
}

std::size_t server_world::task_bytes() const {
    return static_cast<const mcp::memory_task_store&>(*tasks_).bytes();
}

}  // namespace pillion::sim
