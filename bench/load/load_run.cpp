#include "load_run.hpp"

#include <sys/prctl.h>
#include <algorithm>
#include <csignal>
#include <utility>

namespace pillion::load {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::int64_t opening_patience_ns = 10 * ns_per_s;
constexpr std::int64_t leaving_patience_ns = 2 * ns_per_s;

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void load_run::interrupt() noexcept { interrupted = 1; }
bool load_run::was_interrupted() noexcept { return interrupted != 0; }

load_run::load_run(const run_options& how, io::reactor& loop, const server_watch& server,
                   std::function<void(const series_point&)> told)
    : how_(how),
      loop_(loop),
      server_(server),
      told_(std::move(told)),
      check_(loop.chunks(), how.expect),
      schedule_(how.rate, how.rate_to, how.warm_up_ns, how.duration_ns),
      alarm_(loop) {
    plan_.loop = &loop;
    plan_.watcher = this;
    plan_.to = &how.to;
    plan_.what = &how.what;
    plan_.check = &check_;
    plan_.timeout_ns = how.timeout_ns;
    plan_.answer_bytes_max = how.answer_bytes_max;
    plan_.unchecked = how.unchecked;
    plan_.poll_ns = how.poll_ns;
    plan_.prepare();
    free_.resize(how.connections);
}

bool load_run::run(run_result& out, std::string& fault) {
    out_ = &out;
    out.backend = loop_.ops().name();
    for (const pid_t pid : server_.pids()) {
        out.pids.push_back(pid);
    }
    // Waits of io_uring are exact to the nanosecond but for the slack that threads are given.
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    needs_alarm_ = is_open_loop() && out.backend == "epoll" && alarm_.start();
    loop_.arm_in_ms(patience_, 1);
    const bool opened = open_all(fault);
    if (opened) {
        go_through_phases();
    }
    leave_all();
    return opened;
}

void load_run::turn(std::int64_t until_ns) {
    const std::int64_t wait_ns = std::max<std::int64_t>(until_ns - loop_.ops().now_ns(), 0);
    if (needs_alarm_ && wait_ns > 0 && wait_ns < ns_per_s) {
        alarm_.arm(until_ns);
    }
    loop_.run_one(std::min(wait_ns, ns_per_s));
}

// Time-outs and new attempts to connect; how often is enough for both.
void load_run::look_around(io::timer&, void* owner) noexcept {
    load_run& self = *static_cast<load_run*>(owner);
    for (const auto& c : self.all_) {
        c->look_at_clock();
    }
    const std::int64_t often_ms = self.how_.timeout_ns / ns_per_ms / 20;
    self.loop_.arm_in_ms(self.patience_, std::clamp<std::int64_t>(often_ms, 1, 20));
}

bool load_run::open_all(std::string& fault) {
    all_.reserve(how_.connections);
    for (std::size_t i = 0; i < how_.connections; ++i) {
        all_.push_back(std::make_unique<connection>(plan_));
        all_.back()->open();
    }
    const std::int64_t until = loop_.ops().now_ns() + opening_patience_ns;
    while (free_count_ < all_.size() && opening_fault_.what == fault::none && interrupted == 0 &&
           loop_.now_ns() < until) {
        turn(until);
    }
    if (free_count_ == all_.size()) {
        return true;
    }
    const bool otherwise =
        std::any_of(all_.begin(), all_.end(), [](const auto& c) { return c->speaks_otherwise(); });
    if (otherwise) {
        fault = "the server speaks " + check_.negotiated() + " (--revision)";
    } else if (opening_fault_.what != fault::none) {
        fault = "no connection: " + std::string(name_of(opening_fault_.what)) +
                (opening_example_.empty() ? "" : " (" + opening_example_ + ")");
    } else if (interrupted != 0) {
        fault = "interrupted";
    } else {
        fault = "no " + std::to_string(all_.size()) + " connections within 10 s";
    }
    return false;
}

void load_run::go_through_phases() {
    start_ns_ = loop_.now_ns();
    phase_ = phase::warming;
    if (how_.warm_up_ns == 0) {
        begin_measuring(start_ns_);
    }
    if (!is_open_loop()) {
        // From now on they ask by themselves.
        while (connection* const c = take_free()) {
            ask_next(*c);
        }
    }
    const std::int64_t begin = start_ns_ + how_.warm_up_ns;
    while (phase_ == phase::warming && loop_.ops().now_ns() < begin && interrupted == 0) {
        ask_due(loop_.ops().now_ns());
        turn(std::min(next_due_ns(), begin));
    }
    if (phase_ == phase::warming) {
        begin_measuring(begin);
    }
    measure();
    // What was due is still asked for, and what was asked may still be answered.
    while ((under_way_ > 0 || is_behind()) && interrupted == 0) {
        ask_due(loop_.ops().now_ns());
        turn(loop_.ops().now_ns() + 20 * ns_per_ms);
    }
    out_->client_cpu_watched_ns = own_cpu_ns() - cpu_before_ns_;
    if (!server_.pids().empty()) {
        // Only now: looking takes a moment, in which answers would have to wait.
        server_sample after = server_.sample();
        after.cpu_ns -= server_before_.cpu_ns;
        after.switches -= server_before_.switches;
        out_->server = after;
    }
}

void load_run::begin_measuring(std::int64_t at_ns) {
    server_before_ = server_.sample();
    cpu_before_ns_ = own_cpu_ns();
    begin_ns_ = how_.warm_up_ns == 0 ? at_ns : loop_.ops().now_ns();
    end_ns_ = how_.duration_ns == 0 ? INT64_MAX : begin_ns_ + how_.duration_ns;
    tick_ns_ = begin_ns_;
    phase_ = phase::measuring;
}

void load_run::measure() {
    while (true) {
        const std::int64_t now = loop_.ops().now_ns();
        ask_due(now);
        if (now >= tick_ns_ + ns_per_s) {
            tick(now);
        }
        const bool all_asked = how_.requests > 0 && counted_ >= how_.requests;
        if (now >= end_ns_ || interrupted != 0 || (all_asked && under_way_ == 0)) {
            return end_measuring(now);
        }
        turn(std::min({next_due_ns(), end_ns_, tick_ns_ + ns_per_s}));
    }
}

void load_run::end_measuring(std::int64_t now) {
    out_->client_cpu_ns = own_cpu_ns() - cpu_before_ns_;
    end_ns_ = std::min(end_ns_, now);
    out_->seconds = static_cast<double>(now - begin_ns_) / 1e9;
    if (now > tick_ns_) {
        tick(now);
    }
    phase_ = phase::draining;
}

void load_run::tick(std::int64_t now) {
    series_point point;
    point.end_s = static_cast<double>(now - begin_ns_) / 1e9;
    point.seconds = static_cast<double>(now - tick_ns_) / 1e9;
    point.rate = schedule_.rate_at(point.end_s - point.seconds / 2);
    point.ok = second_.count();
    const std::uint64_t errors = out_->counts.errors();
    point.errors = errors - errors_told_;
    errors_told_ = errors;
    point.p50_ns = second_.percentile_ns(50);
    point.p90_ns = second_.percentile_ns(90);
    point.p99_ns = second_.percentile_ns(99);
    point.max_ns = second_.max_ns();
    out_->series.push_back(point);
    out_->latency.merge(second_);
    second_.clear();
    tick_ns_ = now;
    told_(point);
}

bool load_run::is_behind() const noexcept {
    return is_open_loop() && due_of_next() < end_ns_ &&
           (how_.requests == 0 || counted_ < how_.requests);
}

std::int64_t load_run::next_due_ns() const noexcept {
    // Without a free connection an answer comes first.
    return free_count_ > 0 && is_behind() ? due_of_next() : INT64_MAX;
}

connection* load_run::take_free() noexcept {
    while (free_count_ > 0) {
        connection& c = *free_[free_from_];
        free_from_ = (free_from_ + 1) % free_.size();
        --free_count_;
        c.listed = false;
        // It may have been cut off since; then it comes back.
        if (c.is_free()) {
            return &c;
        }
    }
    return nullptr;
}

// Open loop.
void load_run::ask_due(std::int64_t now) noexcept {
    while (is_behind() && due_of_next() <= now) {
        const std::int64_t due = due_of_next();
        const bool too_late = now - due > how_.timeout_ns;
        connection* const c = too_late ? nullptr : take_free();
        if (c == nullptr && !too_late) {
            return;
        }
        due_after_ns_ = schedule_.due_ns(++next_);
        counted_ += counts(due) ? 1 : 0;
        if (c != nullptr) {
            ++under_way_;
            c->ask(due);
        } else if (counts(due)) {
            out_->counts.add_error({fault::unsent}, {});
        }
    }
}

// Closed loop.
void load_run::ask_next(connection& c) noexcept {
    const bool enough = how_.requests > 0 && counted_ >= how_.requests;
    if (phase_ > phase::measuring || enough) {
        return;
    }
    const std::int64_t now = loop_.now_ns();
    counted_ += counts(now) ? 1 : 0;
    ++under_way_;
    c.ask(now);
}

void load_run::on_free(connection& c) noexcept {
    if (phase_ != phase::opening && !is_open_loop()) {
        return ask_next(c);
    }
    if (!c.listed) {
        c.listed = true;
        free_[(free_from_ + free_count_) % free_.size()] = &c;
        ++free_count_;
    }
}

void load_run::on_answer(std::int64_t due_ns, std::int64_t at_ns, const verdict& how,
                         std::string_view example) noexcept {
    --under_way_;
    const bool good = how.what == fault::none;
    out_->answers_watched += phase_ >= phase::measuring ? 1 : 0;
    if (phase_ == phase::measuring && at_ns >= begin_ns_ && at_ns < end_ns_) {
        out_->answers_in_time += good ? 1 : 0;
    }
    if (!counts(due_ns)) {
        return;
    }
    if (!good) {
        return out_->counts.add_error(how, example);
    }
    ++out_->counts.ok;
    out_->counts.events += plan_.events;
    (phase_ == phase::measuring ? second_ : out_->latency).add(at_ns - due_ns);
}

void load_run::on_failed(const verdict& how, std::string_view example) noexcept {
    if (phase_ == phase::opening && opening_fault_.what == fault::none) {
        opening_fault_ = how;
        opening_example_ = example;
    } else if (phase_ == phase::measuring) {
        out_->counts.add_error(how, example);
        // It takes the place of a request: where nobody can be asked the run ends all the same.
        ++counted_;
    }
}

void load_run::on_reconnect() noexcept {
    out_->counts.reconnects += phase_ == phase::measuring ? 1 : 0;
}

void load_run::on_bytes(std::size_t in, std::size_t out) noexcept {
    if (phase_ == phase::measuring) {
        out_->counts.bytes_in += in;
        out_->counts.bytes_out += out;
    }
}

void load_run::leave_all() {
    phase_ = phase::leaving;
    for (const auto& c : all_) {
        c->leave();
    }
    const auto gone = [](const auto& c) { return c->is_gone(); };
    const std::int64_t until = loop_.ops().now_ns() + leaving_patience_ns;
    while (!std::all_of(all_.begin(), all_.end(), gone) && loop_.now_ns() < until) {
        turn(loop_.ops().now_ns() + 20 * ns_per_ms);
    }
    patience_.cancel();
    alarm_.stop();
    static_cast<void>(loop_.drain(leaving_patience_ns / ns_per_ms));
}

}  // namespace pillion::load
