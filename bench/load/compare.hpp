// compare: two reports of --json side by side.
#pragma once

#include "options.hpp"

namespace pillion::load {

// Prints a table of ratios; the exit code, see main.cpp.
int compare_reports(const compare_options& how);

}  // namespace pillion::load
