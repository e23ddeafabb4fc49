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

double search_ceiling(double first, const std::function<bool(double)>& met) {
    constexpr double precision = 0.02;
    constexpr double least_share = 0.001;
    constexpr double growth = 1.25;
    constexpr int growths_max = 8;
    double good = 0;
    double bad = first;
    // What is asked for unhurried may be less than what can be had: by a moment in which the
    // machine was busy, or because what comes together is answered together.
    for (int i = 0; met(bad); ++i) {
        good = bad;
        if (i == growths_max) {
            return good;
        }
        bad *= growth;
    }
    while (bad - good > precision * bad && bad > least_share * first) {
        const double rate = (good + bad) / 2;
        (met(rate) ? good : bad) = rate;
    }
    return good;
}

}  // namespace pillion::load
