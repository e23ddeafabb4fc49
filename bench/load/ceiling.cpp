#include "ceiling.hpp"

namespace pillion::load {

bool meets(const std::vector<assertion>& slo, double rate, const run_result& run) {
    // What the schedule asks for in part of a second may come out a little less.
    constexpr double kept_up = 0.98;
    bool about_errors = false;
    for (const assertion& promise : slo) {
        if (!holds(promise, run.value(promise.what))) {
            return false;
        }
        about_errors =
            about_errors || promise.what == metric::errors || promise.what == metric::error_rate;
    }
    return (about_errors || run.counts.errors() == 0) && run.asked_rps() >= rate * kept_up;
}

double search_ceiling(double upper, const std::function<bool(double)>& met) {
    constexpr double precision = 0.02;
    constexpr double least_share = 0.001;
    double good = 0;
    double bad = upper;
    if (met(upper)) {
        return upper;
    }
    while (bad - good > precision * bad && bad > least_share * upper) {
        const double rate = (good + bad) / 2;
        (met(rate) ? good : bad) = rate;
    }
    return good;
}

}  // namespace pillion::load
