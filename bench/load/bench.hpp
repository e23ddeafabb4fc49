// bench: the runs of one command, one after the other: a single one, those of a list of rates or
// numbers of connections, or those of the search for the highest rate that keeps a promise.
//
// Thread: the one that runs the load.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/reactor.hpp"
#include "options.hpp"
#include "run_result.hpp"
#include "server_watch.hpp"

namespace pillion::load {

// One run.
struct step {
    run_options how;
    run_result what;
    bool met = true;  // of a search: whether it kept the promise
};

struct bench_result {
    std::vector<step> steps;
    // Of a search: the highest rate that kept the promise; 0 when none did.
    std::optional<double> ceiling;
    // The run that a report of a single one is about: of a search the best.
    std::size_t shown = 0;

    // Whether the steps of a list were measured, which are all reported.
    bool is_list() const noexcept { return !ceiling && steps.size() > 1; }
    const step& one() const noexcept { return steps[shown]; }
};

class bench {
 public:
    // `told` hears of each second that was measured.
    bench(io::reactor& loop, const server_watch& server,
          std::function<void(const series_point&)> told)
        : loop_(loop), server_(server), told_(std::move(told)) {}

    // False, with `fault` set, when the server could not be reached or spoken to, or a search was
    // interrupted. Of a list the runs that were finished are kept; one that is interrupted ends
    // early.
    bool run(const run_options& how, bench_result& out, std::string& fault);

 private:
    bool run_one(const run_options& how, bench_result& out, std::string& fault);
    bool run_list(const run_options& how, bench_result& out, std::string& fault);
    bool find_ceiling(run_options how, bench_result& out, std::string& fault);

    io::reactor& loop_;
    const server_watch& server_;
    std::function<void(const series_point&)> told_;
};

}  // namespace pillion::load
