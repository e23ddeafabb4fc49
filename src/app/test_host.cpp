#include "app/test_host.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "app/prepare.hpp"
#include "app/server_state.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "coro/ready_queue.hpp"

namespace pillion::app {

bool test_host::counting_pool::submit(io::reactor& home, base::unique_function<void()> work,
                                      base::unique_function<void()> done_on_home) {
    const bool taken =
        pool_.submit(home, std::move(work), [this, done = std::move(done_on_home)]() mutable {
            --busy_;
            done();
        });
    busy_ += taken ? 1 : 0;
    return taken;
}

std::shared_ptr<test_host> test_host::of(server& s, std::string& fault) {
    if (auto there = s.state().tested.lock()) {
        return there;
    }
    log::set_level(log::level::error);
    mcp::registration_faults faults;
    auto registered = prepare(s, faults);
    if (registered == nullptr) {
        fault = faults.joined();
        return nullptr;
    }
    auto made = std::make_shared<test_host>(s, std::move(registered));
    s.state().tested = made;
    return made;
}

test_host::test_host(server& s, std::unique_ptr<const mcp::registry> registered)
    : state_(s.state()),
      backend_(new io::memory_backend([this] { return pool_.busy(); })),
      loop_(std::unique_ptr<io::backend>(backend_)),
      service_(std::move(registered), s, pool_, 1, mcp::service_options()),
      engine_(std::make_unique<mcp::engine>(service_, loop_, 0)),
      began_ns_(loop_.now_ns()) {
    const std::lock_guard lock(state_.mutex);
    state_.running = &service_;
}

test_host::~test_host() {
    {
        const std::lock_guard lock(state_.mutex);
        state_.running = nullptr;
    }
    engine_->drain();
    engine_->stop_all();
    constexpr std::chrono::hours patience(24);
    const auto until = elapsed() + patience;
    while (!engine_->idle() && elapsed() < until && step(patience)) {
    }
    if (!engine_->idle()) {
        std::fputs("pillion: a handler goes on after it was stopped, and would for ever\n", stderr);
        std::abort();
    }
    if (!engine_->end_parts()) {
        std::fputs("pillion: what handlers share does not end\n", stderr);
        std::abort();
    }
    engine_.reset();
    loop_.drain(1000);
}

bool test_host::guests_acted() {
    bool any = false;
    // Clients may come and go meanwhile.
    for (std::size_t i = 0; i < guests_.size(); ++i) {
        any = guests_[i]->between_turns() || any;
    }
    return any;
}

void test_host::settle() {
    backend_->hold_time(true);
    // The dispatch after a turn without work may have made some: two in a row count.
    for (int still = 0; still < 2;) {
        loop_.run_one(INT64_MAX);
        const bool moved =
            guests_acted() || !backend_->idle() || !coro::ready_queue::current().empty();
        still = moved ? 0 : still + 1;
    }
    backend_->hold_time(false);
}

bool test_host::step(std::chrono::nanoseconds limit) {
    settle();
    loop_.run_one(limit.count());
    const bool dead = backend_->idle();
    settle();
    return !dead;
}

void test_host::pass(std::chrono::nanoseconds time) {
    const auto until = elapsed() + time;
    while (elapsed() < until) {
        step(until - elapsed());
    }
    settle();
}

std::chrono::nanoseconds test_host::elapsed() const noexcept {
    return std::chrono::nanoseconds(loop_.now_ns() - began_ns_);
}

}  // namespace pillion::app
