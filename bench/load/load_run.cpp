#include "load_run.hpp"

#include <sys/prctl.h>
#include <algorithm>
#include <csignal>
#include <utility>

#include <pillion/json.hpp>

#include "base/clock.hpp"

namespace pillion::load {

namespace {

using base::ns_per_ms;
constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::int64_t opening_patience_ns = 10 * ns_per_s;
constexpr std::int64_t leaving_patience_ns = 2 * ns_per_s;

volatile std::sig_atomic_t interrupted = 0;

// All kinds of changes, and these resources.
std::string render_filter(const std::vector<std::string>& resources) {
    json::builder b;
    b.begin_object();
    for (const char* const kind :
         {"toolsListChanged", "promptsListChanged", "resourcesListChanged"}) {
        b.member(kind, true);
    }
    if (!resources.empty()) {
        b.key("resourceSubscriptions").begin_array();
        for (const std::string& uri : resources) {
            b.value(uri);
        }
        b.end_array();
    }
    b.end_object();
    return ",\"notifications\":" + std::string(b.text());
}

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
    if (how.what.how == pattern::listen) {
        listening_ = how.what;
        listening_.questions = {{action::listen, {}, "{}", render_filter(how.resources)}};
        fan_out_watcher& hears = *this;
        fan_out_.emplace(plan_, listening_, how.connections, hears);
    }
    free_.resize(fan_out_ ? 1 : how.connections);
}

bool load_run::run(run_result& out, std::string& fault) {
    out_ = &out;
    out.backend = loop_.ops().name();
    out.client_spins = how_.spin;
    out.answers_each = fan_out_ ? how_.connections : 1;
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
    const std::int64_t wait_ns =
        how_.spin ? 0 : std::max<std::int64_t>(until_ns - loop_.ops().now_ns(), 0);
    if (needs_alarm_ && wait_ns > 0 && wait_ns < ns_per_s) {
        alarm_.arm(until_ns);
    }
    loop_.run_one(std::min(wait_ns, ns_per_s));
    // Only now: a change that was told twice is no news of the next one.
    if (round_due_ns_ < 0 && caller_ != nullptr) {
        connection& c = *std::exchange(caller_, nullptr);
        // It may have been cut off since; then it comes back.
        c.is_free() ? use(c) : void();
    }
}

// Time-outs and new attempts to connect; how often is enough for both.
void load_run::look_around(io::timer&, void* owner) noexcept {
    load_run& self = *static_cast<load_run*>(owner);
    for (const auto& c : self.all_) {
        c->look_at_clock();
    }
    if (self.fan_out_) {
        self.fan_out_->look_at_clock();
        self.go_on_with_round();
    }
    const std::int64_t often_ms = self.how_.timeout_ns / ns_per_ms / 20;
    self.loop_.arm_in_ms(self.patience_, std::clamp<std::int64_t>(often_ms, 1, 20));
}

bool load_run::open_all(std::string& fault) {
    if (fan_out_) {
        fan_out_->open();
    }
    all_.reserve(free_.size());
    for (std::size_t i = 0; i < free_.size(); ++i) {
        all_.push_back(std::make_unique<connection>(plan_));
        all_.back()->open();
    }
    const std::int64_t until = loop_.ops().now_ns() + opening_patience_ns;
    while (!is_open() && opening_fault_.what == fault::none && interrupted == 0 &&
           loop_.now_ns() < until) {
        turn(until);
    }
    fault = is_open() ? "" : why_not_open();
    return is_open();
}

std::string load_run::why_not_open() const {
    const bool otherwise =
        std::any_of(all_.begin(), all_.end(), [](const auto& c) { return c->speaks_otherwise(); });
    if (otherwise) {
        return "the server speaks " + check_.negotiated() + " (--revision)";
    }
    if (opening_fault_.what != fault::none) {
        return "no connection: " + std::string(name_of(opening_fault_.what)) +
               (opening_example_.empty() ? "" : " (" + opening_example_ + ")");
    }
    return interrupted != 0 ? "interrupted"
                            : "no " + std::to_string(how_.connections) +
                                  (fan_out_ ? " streams" : " connections") + " within 10 s";
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
    if (server_.is_watching()) {
        // Only now: looking takes a moment, in which answers would have to wait.
        out_->server = server_.since(server_before_);
    }
}

void load_run::begin_measuring(std::int64_t at_ns) {
    if (server_.is_watching()) {
        const std::set<pid_t> pids = server_.pids();
        out_->pids.assign(pids.begin(), pids.end());
        server_before_ = server_.sample();
    }
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
            ask(*c, due);
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
    ask(c, now);
}

void load_run::ask(connection& c, std::int64_t due_ns) noexcept {
    ++under_way_;
    if (fan_out_) {
        round_due_ns_ = due_ns;
        round_asked_ns_ = loop_.now_ns();
        round_answered_ = false;
        fan_out_->begin_round();
    }
    c.ask(due_ns);
}

void load_run::on_free(connection& c) noexcept {
    if (fan_out_) {
        caller_ = &c;
    } else {
        use(c);
    }
}

void load_run::use(connection& c) noexcept {
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
    const bool good = how.what == fault::none;
    if (!good && counts_if_bad(due_ns)) {
        out_->counts.add_error(how, example);
    }
    if (fan_out_) {
        // What counts is who hears of it; of a call that went wrong nobody needs to.
        round_answered_ = true;
        round_due_ns_ = good ? round_due_ns_ : -1;
        under_way_ -= good ? 0 : 1;
        return go_on_with_round();
    }
    --under_way_;
    if (good) {
        return count_good(due_ns, at_ns);
    }
    out_->answers_watched += phase_ >= phase::measuring ? 1 : 0;
}

void load_run::count_good(std::int64_t due_ns, std::int64_t at_ns) noexcept {
    out_->answers_watched += phase_ >= phase::measuring ? 1 : 0;
    if (phase_ == phase::measuring && at_ns >= begin_ns_ && at_ns < end_ns_) {
        ++out_->answers_in_time;
    }
    if (counts(due_ns)) {
        ++out_->counts.ok;
        out_->counts.events += plan_.events;
        (phase_ == phase::measuring ? second_ : out_->latency).add(at_ns - due_ns);
    }
}

void load_run::on_change(std::int64_t at_ns) noexcept {
    if (round_due_ns_ >= 0) {
        count_good(round_due_ns_, at_ns);
        go_on_with_round();
    }
}

void load_run::go_on_with_round() noexcept {
    const bool late = loop_.now_ns() - round_asked_ns_ > how_.timeout_ns;
    if (round_due_ns_ < 0 || !round_answered_ || (fan_out_->missing() > 0 && !late)) {
        return;
    }
    for (std::size_t i = 0; i < fan_out_->missing() && counts_if_bad(round_due_ns_); ++i) {
        out_->counts.add_error({fault::timeout}, {});
    }
    round_due_ns_ = -1;
    --under_way_;
}

void load_run::on_stream_failed(const verdict& how, std::string_view example) noexcept {
    on_failed(how, example);
}

// It takes the place of no request.
void load_run::on_unasked(const verdict& how, std::string_view example) noexcept {
    if (phase_ == phase::measuring || phase_ == phase::draining) {
        out_->counts.add_error(how, example);
    }
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
    if (fan_out_) {
        fan_out_->leave();
    }
    const auto gone = [this] {
        return std::all_of(all_.begin(), all_.end(), [](const auto& c) { return c->is_gone(); }) &&
               (!fan_out_ || fan_out_->is_gone());
    };
    const std::int64_t until = loop_.ops().now_ns() + leaving_patience_ns;
    while (!gone() && loop_.now_ns() < until) {
        turn(loop_.ops().now_ns() + 20 * ns_per_ms);
    }
    patience_.cancel();
    alarm_.stop();
    static_cast<void>(loop_.drain(leaving_patience_ns / ns_per_ms));
}

}  // namespace pillion::load
