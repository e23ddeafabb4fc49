// formats: what "format" asserts when it is asked to.
//
// The functions look at the text alone: no memory, no tables of other people's names, no network.
// Thread-safety: no state; any thread.
#pragma once

#include <string_view>

namespace pillion::schema_check {

// Whether `text`, valid UTF-8, has the format.
using format_check = bool (*)(std::string_view text) noexcept;

// The check of a format by its name in JSON Schema 2020-12 §7.3; null for one that is not known,
// which then asserts nothing.
format_check find_format(std::string_view name) noexcept;

}  // namespace pillion::schema_check
