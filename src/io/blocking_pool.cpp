#include "io/blocking_pool.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/cpu.hpp"
#include "base/log.hpp"

namespace pillion::io {

struct blocking_pool::state {
    struct job {
        reactor* home;
        base::unique_function<void()> work;
        base::unique_function<void()> done;
    };

    state(std::size_t most, std::size_t queued) : threads_max(most), queue_max(queued) {}

    void serve();
    // REQUIRES: locked.
    void add_thread();

    const std::size_t threads_max;
    const std::size_t queue_max;
    std::mutex mutex;
    std::condition_variable wanted;
    std::deque<job> queue;
    std::vector<std::thread> threads;
    std::size_t idle = 0;
    bool stopping = false;
    bool refused = false;  // the system gave no thread: told once, until it gives one
};

void blocking_pool::state::serve() {
    // A long computation must not hold up the turns of the loops where processors are short.
    base::set_thread_kind(base::thread_kind::compute);
    std::unique_lock lock(mutex);
    for (;;) {
        ++idle;
        wanted.wait(lock, [this] { return stopping || !queue.empty(); });
        --idle;
        if (stopping) {
            return;
        }
        job next = std::move(queue.front());
        queue.pop_front();
        lock.unlock();
        next.work();
        next.work.reset();
        next.home->post(std::move(next.done));
        lock.lock();
    }
}

void blocking_pool::state::add_thread() {
    try {
        threads.emplace_back([this] { serve(); });
        refused = false;
    } catch (const std::system_error& e) {
        // pids.max of a container, TasksMax, ulimit -u. Those there are serve all.
        if (!std::exchange(refused, true)) {
            log::error("blocking.no_thread",
                       {log::kv("errno", e.code().value()), log::kv("threads", threads.size())});
        }
    }
}

blocking_pool::blocking_pool(std::size_t threads, std::size_t queue_max)
    : state_(std::make_unique<state>(threads, queue_max)) {}

blocking_pool::~blocking_pool() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping = true;
    }
    state_->wanted.notify_all();
    for (std::thread& t : state_->threads) {
        t.join();
    }
    // Whoever waits for a job that never ran still hears of its end.
    for (state::job& dropped : state_->queue) {
        dropped.work.reset();
        dropped.home->post(std::move(dropped.done));
    }
}

bool blocking_pool::submit(reactor& home, base::unique_function<void()> work,
                           base::unique_function<void()> done_on_home) {
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->stopping || state_->queue.size() >= state_->queue_max) {
            return false;
        }
        if (state_->idle <= state_->queue.size() && state_->threads.size() < state_->threads_max) {
            state_->add_thread();
        }
        if (state_->threads.empty()) {
            return false;
        }
        state_->queue.push_back({&home, std::move(work), std::move(done_on_home)});
    }
    state_->wanted.notify_one();
    return true;
}

}  // namespace pillion::io
