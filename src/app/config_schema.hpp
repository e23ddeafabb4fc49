// config_schema: the table of keys as a JSON Schema (draft-07, which editors know best), in which
// every value may also be a text with a variable. Published as src/app/pillion.schema.json.
#pragma once

#include <string>

#include "app/config_keys.hpp"

namespace pillion::app {

// The schema as indented JSON, ending in a newline. Thread-safety: any thread.
std::string config_schema(const config_table& keys, const std::string& program);

}  // namespace pillion::app
