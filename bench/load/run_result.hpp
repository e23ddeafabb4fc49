// run_result: what a run measured, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assertion.hpp"
#include "histogram.hpp"
#include "server_watch.hpp"
#include "tally.hpp"

namespace pillion::load {

// One second of a run, or what was left of the last one.
struct series_point {
    double end_s = 0;  // since the measured time began
    double seconds = 0;
    std::uint64_t ok = 0;
    std::uint64_t errors = 0;
    double rate = 0;  // open loop: of what was due
    std::int64_t p50_ns = 0;
    std::int64_t p90_ns = 0;
    std::int64_t p99_ns = 0;
    std::int64_t max_ns = 0;
};

struct run_result {
    latency_histogram latency;
    tally counts;
    std::vector<series_point> series;
    double seconds = 0;                 // of the measured time
    std::uint64_t answers_in_time = 0;  // good answers that came in it, whenever asked for
    std::size_t answers_each = 1;       // to one request: `listen` has as many as streams
    std::int64_t client_cpu_ns = 0;     // in it
    // All answers from the beginning of the measured time until the last one, and the processor
    // time of the client for them; that of the server is for the same.
    std::uint64_t answers_watched = 0;
    std::int64_t client_cpu_watched_ns = 0;
    bool client_spins = false;  // its processor time says nothing
    std::string backend;
    std::vector<int> pids;
    std::optional<server_sample> server;

    double rps() const noexcept {
        return seconds > 0 ? static_cast<double>(answers_in_time) / seconds : 0;
    }
    // As a schedule counts: of requests, however many answers each has.
    double asked_rps() const noexcept { return rps() / static_cast<double>(answers_each); }
    double client_share() const noexcept {
        return seconds > 0 ? static_cast<double>(client_cpu_ns) / 1e9 / seconds : 0;
    }
    // The client, which has one thread, could hardly have asked for more.
    bool client_was_bottleneck() const noexcept { return !client_spins && client_share() >= 0.9; }
    // nullopt: a latency, and nothing was answered.
    std::optional<double> value(metric of) const noexcept;
};

}  // namespace pillion::load
