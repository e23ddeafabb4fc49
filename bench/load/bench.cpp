#include "bench.hpp"

#include "ceiling.hpp"
#include "load_run.hpp"
#include "quantity.hpp"

namespace pillion::load {

bool bench::run(const run_options& how, bench_result& out, std::string& fault) {
    if (how.find_ceiling) {
        return find_ceiling(how, out, fault);
    }
    return how.steps() > 1 ? run_list(how, out, fault) : run_one(how, out, fault);
}

bool bench::run_one(const run_options& how, bench_result& out, std::string& fault) {
    step& done = out.steps.emplace_back();
    done.how = how;
    load_run one(done.how, loop_, server_, told_);
    if (one.run(done.what, fault)) {
        return true;
    }
    out.steps.pop_back();
    return false;
}

bool bench::run_list(const run_options& how, bench_result& out, std::string& fault) {
    for (std::size_t i = 0; i < how.steps(); ++i) {
        if (i > 0 && load_run::was_interrupted()) {
            break;
        }
        run_options now = how;
        if (!how.rate_steps.empty()) {
            now.rate = now.rate_to = how.rate_steps[i];
        } else {
            now.connections = how.connection_steps[i];
        }
        if (!run_one(now, out, fault)) {
            fault =
                (how.rate_steps.empty()
                     ? "with " + show_count(static_cast<double>(now.connections)) + " connections: "
                     : "at " + show_count(now.rate) + " requests/s: ") +
                fault;
            return false;
        }
    }
    return true;
}

// First what the server does unhurried, in closed loop; then what it does in time.
bool bench::find_ceiling(run_options how, bench_result& out, std::string& fault) {
    bool ran = run_one(how, out, fault);
    if (!ran) {
        return false;
    }
    const double unhurried = out.steps[0].what.asked_rps();
    const auto tried_and_met = [&](double rate) {
        how.rate = how.rate_to = rate;
        ran = ran && !load_run::was_interrupted() && run_one(how, out, fault);
        if (!ran) {
            return false;
        }
        step& tried = out.steps.back();
        tried.met = meets(how.slo, rate, tried.what);
        if (tried.met) {
            out.shown = out.steps.size() - 1;
        }
        return tried.met;
    };
    // A machine that stalls once is no reason to look for the ceiling below: what is missed is
    // tried a second time.
    out.ceiling = search_ceiling(
        unhurried, [&](double rate) { return tried_and_met(rate) || tried_and_met(rate); });
    if (load_run::was_interrupted()) {
        fault = "interrupted";
    }
    return ran && !load_run::was_interrupted();
}

}  // namespace pillion::load
