#include "io/reactor.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/cpu.hpp"
#include "base/fetch.hpp"
#include "base/log.hpp"
#include "io/stream.hpp"

namespace pillion::io {

struct reactor::job_node {
    base::unique_function<void()> job;
    job_node* next = nullptr;
};

struct reactor::foreign_call {
    std::atomic<int>& count;
    explicit foreign_call(std::atomic<int>& c) noexcept : count(c) {
        count.fetch_add(1, std::memory_order_seq_cst);
    }
    // The last thing a call touches.
    ~foreign_call() { count.fetch_sub(1, std::memory_order_release); }
};

reactor::reactor(std::unique_ptr<backend> with)
    : backend_(std::move(with)),
      ticking_(base::tick_clock::available() && !backend_->has_virtual_time()),
      now_ns_(backend_->now_ns()),
      unix_ms_(backend_->unix_ms()),
      unix_read_ns_(now_ns_),
      timers_(now_ns_) {
    completions_.reserve(4096);
}

reactor::~reactor() {
    while (foreign_calls_.load(std::memory_order_acquire) != 0) {
        std::this_thread::yield();
    }
    // Jobs posted too late are destroyed unrun.
    for (job_node* list = inbox_.exchange(nullptr, std::memory_order_acquire); list != nullptr;) {
        delete std::exchange(list, list->next);
    }
}

void reactor::run() noexcept {
    base::set_thread_kind(base::thread_kind::respond);
    log::collect(true);
    read_clock();  // what came before was no turn
    while (!stop_.exchange(false, std::memory_order_acq_rel)) {
        run_one(INT64_MAX);
    }
    log::collect(false);
}

void reactor::stop() noexcept {
    const foreign_call guard(foreign_calls_);
    stop_.store(true, std::memory_order_seq_cst);
    if (may_sleep_.exchange(false, std::memory_order_seq_cst)) {
        backend_->wake();
    }
}

bool reactor::drain(std::int64_t limit_ms) noexcept {
    const std::int64_t until = backend_->now_ns() + limit_ms * 1'000'000;
    constexpr std::int64_t slice_ns = 10'000'000;
    while (backend_->in_flight() > 0 || !coro::ready_queue::current().empty()) {
        if (now_ns_ >= until) {
            return false;
        }
        run_one(slice_ns);
    }
    return true;
}

void reactor::read_clock() noexcept {
    const std::uint64_t ticks = base::tick_clock::ticks();
    now_ns_ = backend_->now_ns();
    if (ticking_) {
        ticks_.set(now_ns_, ticks);
    }
    // The wall clock is only good to the millisecond, so it is not read more often than that.
    constexpr std::int64_t wall_period_ns = 1'000'000;
    if (now_ns_ - unix_read_ns_ >= wall_period_ns) {
        unix_ms_ = backend_->unix_ms();
        unix_read_ns_ = now_ns_;
    }
}

void reactor::run_one(std::int64_t wait_max_ns) noexcept {
    coro::ready_queue::current().run_some(resumptions_max);
    flush_dirty();
    enter(wait_max_ns);
    read_clock();
    ++turns_;
    dispatch();
    timers_.advance(now_ns_);
    run_inbox();
}

void reactor::enter(std::int64_t wait_max_ns) noexcept {
    log::hand_over();
    const std::int64_t now = clock_ns();
    const std::int64_t took_ns = now - now_ns_;
    if (took_ns > slow_turn_ns) {
        ++slow_turns_;
    }
    slowest_turn_ns_ = std::max(slowest_turn_ns_, took_ns);
    lag_ns_ = std::min(took_ns, turn_took_ns_);
    turn_took_ns_ = took_ns;
    std::int64_t wait = 0;
    if (coro::ready_queue::current().empty()) {
        const std::int64_t due = timers_.next_due_ns();
        wait = due == INT64_MAX ? INT64_MAX : std::max<std::int64_t>(due - now, 0);
        wait = std::min(wait, wait_max_ns);
    }
    if (wait == 0) {
        backend_->turn(0, completions_);
        return;
    }
    // Posters push first and look at may_sleep_ second, we do it the other way round: one of the
    // two always sees the other (hence seq_cst).
    may_sleep_.store(true, std::memory_order_seq_cst);
    if (inbox_.load(std::memory_order_seq_cst) != nullptr ||
        stop_.load(std::memory_order_seq_cst)) {
        wait = 0;
    }
    backend_->turn(wait == INT64_MAX ? -1 : wait, completions_);
    may_sleep_.store(false, std::memory_order_relaxed);
    if (turn_took_ns_ > slow_turn_ns && backend_->now_ns() - now > slow_turn_ns) {
        lag_ns_ = turn_took_ns_ = 0;  // it slept: nobody waits any more
    }
}

namespace {

// Of a thousand connections none is in the caches when its turn comes: what handlers will touch is
// asked for while others run. First the operations, whose owners lie around them, then the readers
// that those name, then the coroutines that wait there. All that has still to be dispatched exists
// (io/op.hpp).
constexpr std::size_t owner_ahead = 4;
constexpr std::size_t reader_ahead = 2;
constexpr std::size_t frame_ahead = 1;

[[gnu::always_inline]] inline void fetch_owner(const op& of) noexcept {
    constexpr std::size_t before_bytes = 32;  // its bases
    constexpr std::size_t owner_bytes = 264;  // a tcp_stream
    base::fetch(reinterpret_cast<const char*>(&of) - before_bytes, owner_bytes);
}

const stream_reader* reader_of(const op& of) noexcept {
    return of.reader_at == 0 ? nullptr
                             : *(reinterpret_cast<stream_reader* const*>(&of) + of.reader_at);
}

[[gnu::always_inline]] inline void fetch_reader(const op& of) noexcept {
    constexpr std::size_t reader_bytes = 376;  // an http::connection
    if (const stream_reader* const named = reader_of(of)) {
        base::fetch(named, reader_bytes);
    }
}

[[gnu::always_inline]] inline void fetch_frame(const op& of) noexcept {
    constexpr std::size_t frame_bytes = 128;  // what is before the variables of a coroutine
    const stream_reader* const named = reader_of(of);
    if (named != nullptr && named->waiting()) {
        base::fetch(named->waiting().address(), frame_bytes);
    }
}

[[gnu::always_inline]] inline void fetch_first(const std::vector<completion>& all) noexcept {
    for (std::size_t i = 0; i < std::min(owner_ahead, all.size()); ++i) {
        fetch_owner(*all[i].target);
    }
    for (std::size_t i = 0; i < std::min(reader_ahead, all.size()); ++i) {
        fetch_reader(*all[i].target);
    }
    if (!all.empty()) {
        fetch_frame(*all[0].target);
    }
}

[[gnu::always_inline]] inline void fetch_ahead(const std::vector<completion>& all,
                                               std::size_t now) noexcept {
    if (now + owner_ahead < all.size()) {
        fetch_owner(*all[now + owner_ahead].target);
    }
    if (now + reader_ahead < all.size()) {
        fetch_reader(*all[now + reader_ahead].target);
    }
    if (now + frame_ahead < all.size()) {
        fetch_frame(*all[now + frame_ahead].target);
    }
}

}  // namespace

void reactor::dispatch() noexcept {
    fetch_first(completions_);
    for (std::size_t i = 0; i < completions_.size(); ++i) {
        fetch_ahead(completions_, i);
        const completion what = completions_[i];
        op& target = *what.target;
        if (!what.more) {
            target.in_flight = false;
        }
        target.on_complete(target, what);
        if (what.data != nullptr) {
            backend_->give_back(what.buffer_id);
        }
    }
    completions_.clear();
}

void reactor::mark_dirty(flushable& f) noexcept {
    if (f.dirty_link != nullptr) {
        return;
    }
    f.next_dirty = dirty_;
    f.dirty_link = &dirty_;
    if (dirty_ != nullptr) {
        dirty_->dirty_link = &f.next_dirty;
    }
    dirty_ = &f;
}

void reactor::unmark_dirty(flushable& f) noexcept {
    if (f.dirty_link == nullptr) {
        return;
    }
    *f.dirty_link = f.next_dirty;
    if (f.next_dirty != nullptr) {
        f.next_dirty->dirty_link = f.dirty_link;
    }
    f.next_dirty = nullptr;
    f.dirty_link = nullptr;
}

void reactor::flush_dirty() noexcept {
    // Taken one by one: a flush may mark another (TLS writes into the socket below it).
    while (dirty_ != nullptr) {
        flushable& f = *dirty_;
        unmark_dirty(f);
        f.flush();
    }
}

void reactor::post(base::unique_function<void()> job) {
    const foreign_call guard(foreign_calls_);
    auto* node = new job_node{std::move(job)};
    node->next = inbox_.load(std::memory_order_relaxed);
    while (!inbox_.compare_exchange_weak(node->next, node, std::memory_order_seq_cst,
                                         std::memory_order_relaxed)) {
    }
    // Only the first poster who finds the loop possibly asleep pays for the wake.
    if (may_sleep_.load(std::memory_order_seq_cst) &&
        may_sleep_.exchange(false, std::memory_order_seq_cst)) {
        backend_->wake();
    }
}

void reactor::run_inbox() noexcept {
    if (inbox_.load(std::memory_order_relaxed) == nullptr) {
        return;
    }
    job_node* newest = inbox_.exchange(nullptr, std::memory_order_acquire);
    job_node* oldest = nullptr;
    while (newest != nullptr) {
        job_node* next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != nullptr) {
        const std::unique_ptr<job_node> node(oldest);
        oldest = node->next;
        node->job();
    }
}

}  // namespace pillion::io
