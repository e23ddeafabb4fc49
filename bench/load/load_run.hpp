// load_run: one run: opens the connections, warms up, measures, waits for what is under way, ends
// the sessions.
//
// Closed loop: each connection asks again as soon as it is answered. Open loop: request i is due
// at begin + i / rate on whatever connection is free, and its latency counts from then, however
// late it could be sent (no coordinated omission). A request counts if it was due in the measured
// time, an error also if it was due before and comes later. With streams that listen (fan_out),
// one connection more asks; the samples are when each stream has heard of what its request
// changed, and the request is over when all have. Thread: the one that calls run().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answer_check.hpp"
#include "connection.hpp"
#include "fan_out.hpp"
#include "fine_timer.hpp"
#include "io/reactor.hpp"
#include "options.hpp"
#include "run_result.hpp"
#include "schedule.hpp"
#include "server_watch.hpp"

namespace pillion::load {

class load_run final : private connection_watcher, private fan_out_watcher {
 public:
    // `told` hears of each second that was measured.
    load_run(const run_options& how, io::reactor& loop, const server_watch& server,
             std::function<void(const series_point&)> told);
    load_run(const load_run&) = delete;
    load_run& operator=(const load_run&) = delete;
    ~load_run() = default;

    // False, with `fault` set, when the server could not be reached or spoken to.
    bool run(run_result& out, std::string& fault);

    // Ends the measured time soon. Safe in a signal handler.
    static void interrupt() noexcept;
    static bool was_interrupted() noexcept;

 private:
    enum class phase : std::uint8_t { opening, warming, measuring, draining, leaving };

    void on_free(connection& c) noexcept override;
    void on_answer(std::int64_t due_ns, std::int64_t at_ns, const verdict& how,
                   std::string_view example) noexcept override;
    void on_unasked(const verdict& how, std::string_view example) noexcept override;
    void on_failed(const verdict& how, std::string_view example) noexcept override;
    void on_reconnect() noexcept override;
    void on_bytes(std::size_t in, std::size_t out) noexcept override;

    void on_change(std::int64_t at_ns) noexcept override;
    void on_stream_failed(const verdict& how, std::string_view example) noexcept override;

    bool open_all(std::string& fault);
    bool is_open() const noexcept {
        return free_count_ == all_.size() && (!fan_out_ || fan_out_->is_ready());
    }
    std::string why_not_open() const;
    // Asks it, or waits with it until a request is due.
    void use(connection& c) noexcept;
    void ask(connection& c, std::int64_t due_ns) noexcept;
    void count_good(std::int64_t due_ns, std::int64_t at_ns) noexcept;
    // The request that changes something was answered, or all have heard of it, or waited enough.
    void go_on_with_round() noexcept;
    void go_through_phases();
    void leave_all();
    void begin_measuring(std::int64_t at_ns);
    void measure();
    void end_measuring(std::int64_t now);
    void ask_due(std::int64_t now) noexcept;
    void ask_next(connection& c) noexcept;
    // A connection that may be asked, the one that has waited longest; null when there is none.
    connection* take_free() noexcept;
    void tick(std::int64_t now);
    bool is_open_loop() const noexcept { return schedule_.is_open(); }
    std::int64_t due_of_next() const noexcept { return start_ns_ + due_after_ns_; }
    // Whether requests are due that were not asked, now or before the end of the run.
    bool is_behind() const noexcept;
    std::int64_t next_due_ns() const noexcept;
    void turn(std::int64_t until_ns);
    bool counts(std::int64_t due_ns) const noexcept {
        return due_ns >= begin_ns_ && due_ns < end_ns_;
    }
    // What fails now. Also of the warm-up: where nobody answers there may be nothing else.
    bool counts_if_bad(std::int64_t due_ns) const noexcept {
        return phase_ >= phase::measuring && due_ns < end_ns_;
    }
    static void look_around(io::timer& self, void* owner) noexcept;

    const run_options& how_;
    io::reactor& loop_;
    const server_watch& server_;
    std::function<void(const series_point&)> told_;
    answer_check check_;
    connection_plan plan_;
    std::vector<std::unique_ptr<connection>> all_;
    std::vector<connection*> free_;  // a ring: whoever waits longest is asked first
    std::size_t free_from_ = 0;
    std::size_t free_count_ = 0;
    io::timer patience_{&load_run::look_around, this};
    scenario listening_;  // of the streams
    std::optional<fan_out> fan_out_;
    std::int64_t round_due_ns_ =
        -1;  // of the request whose change is waited for; -1: there is none
    std::int64_t round_asked_ns_ = 0;
    bool round_answered_ = false;
    connection* caller_ = nullptr;  // with which the next round is begun
    schedule schedule_;
    fine_timer alarm_;
    bool needs_alarm_ = false;

    phase phase_ = phase::opening;
    std::int64_t start_ns_ = 0;          // of the schedule: warm-up included
    std::int64_t begin_ns_ = INT64_MAX;  // of the measured time
    std::int64_t end_ns_ = INT64_MAX;
    std::int64_t tick_ns_ = 0;       // when the present point of the series began
    std::uint64_t next_ = 0;         // open loop: requests that were due
    std::int64_t due_after_ns_ = 0;  // … and when the next one is, since start_ns_
    std::uint64_t counted_ = 0;      // requests begun in the measured time
    std::uint64_t under_way_ = 0;
    std::uint64_t errors_told_ = 0;  // of the points of the series so far
    latency_histogram second_;
    server_sample server_before_;
    std::int64_t cpu_before_ns_ = 0;
    verdict opening_fault_;
    std::string opening_example_;
    run_result* out_ = nullptr;
};

}  // namespace pillion::load
