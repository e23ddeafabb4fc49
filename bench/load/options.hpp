// options: the command line of pillion-bench.
//
// Faults are one line; exit codes are those of main.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "assertion.hpp"
#include "io/backend_factory.hpp"
#include "scenario.hpp"
#include "target.hpp"
#include "tls_dial.hpp"

namespace pillion::load {

struct run_options {
    target to;
    scenario what;
    std::size_t connections = 64;
    double rate = 0;     // a second; 0: closed loop
    double rate_to = 0;  // at the end of the duration
    // One run each; one of the two lists at most.
    std::vector<double> rate_steps;
    std::vector<std::size_t> connection_steps;
    std::int64_t warm_up_ns = 1'000'000'000;
    std::int64_t duration_ns = 10'000'000'000;
    std::uint64_t requests = 0;  // 0: as many as there is time for
    std::int64_t timeout_ns = 10'000'000'000;
    std::size_t answer_bytes_max = 64U << 20U;
    std::string expect;
    std::int64_t poll_ns = -1;     // between two looks at a task; negative: what the server says
    bool finds_revision = false;   // auto: what.rev is to be found
    bool makes_arguments = false;  // of the tool, by its schema
    std::uint64_t seed = 1;
    std::vector<std::string> resources;  // that listeners subscribe to
    tls_words tls;
    std::string pid;  // empty, a number or "auto"
    std::string json_file;
    std::string ndjson_file;
    std::string html_file;
    std::vector<assertion> assertions;
    bool unchecked = false;     // answers count by their framing and status
    bool spin = false;          // never sleeps, so that the server need not wake it
    bool find_ceiling = false;  // of the rate, while `slo` is met
    std::vector<assertion> slo;
    bool quiet = false;
    io::backend_mode io = io::backend_mode::automatic;

    std::size_t steps() const noexcept {
        return rate_steps.empty() ? connection_steps.size() : rate_steps.size();
    }
    bool is_ramp() const noexcept { return rate < rate_to || rate_to < rate; }
};

struct compare_options {
    std::string before;
    std::string after;
    double fail_above = -1;  // a share; negative: never
};

enum class command : std::uint8_t { run, compare, nothing };

struct options {
    command what = command::nothing;
    run_options run;
    compare_options compare;
    int exit_code = 0;  // of nothing: help or version was printed, or a fault
};

options read_options(int argc, char** argv);

// What the revision of a run lacks for its scenario; empty when nothing, or while it is to be
// found.
std::string check_scenario(const run_options& how);

}  // namespace pillion::load
