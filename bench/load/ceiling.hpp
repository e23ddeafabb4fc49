// ceiling: the highest rate at which a server keeps its promises (--slo), found by halving.
//
// Thread: the one that runs the load.
#pragma once

#include <functional>
#include <vector>

#include "assertion.hpp"
#include "run_result.hpp"

namespace pillion::load {

// Whether a run in open loop at `rate` kept all of `slo`. It must have kept up with the rate, and
// its answers must be right, unless the promises are about errors.
bool meets(const std::vector<assertion>& slo, double rate, const run_result& run);

// Halves what lies between 0 and `first` until it knows the highest rate for which `met` says yes
// to 2 %, or to a thousandth of `first`; 0 when there is none. Where `first` itself is met it looks
// above it, up to six times as high.
double search_ceiling(double first, const std::function<bool(double)>& met);

}  // namespace pillion::load
