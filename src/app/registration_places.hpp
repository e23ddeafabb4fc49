// registration_places: where the configuration says what could not be registered. Thread-safety:
// plain functions.
#pragma once

#include "app/config_fault.hpp"
#include "app/reloader.hpp"
#include "mcp/registration_faults.hpp"

namespace pillion::app {

// The same faults with their places in the file of `from`; those of what no file says have none.
config_faults with_places(const mcp::registration_faults& faults, const configuration& from);

}  // namespace pillion::app
