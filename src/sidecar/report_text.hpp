// report_text: texts of a document of others as they may stand in messages and descriptions.
//
// Thread-safety: pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pillion::sidecar {

// At most so many bytes of a text, whole characters, "…" in place of the rest.
std::string cut_text(std::string_view text, std::size_t bytes_max);

// The same on one line: what is blank or a control character becomes one space, and none is left at
// either end.
std::string one_line(std::string_view text, std::size_t bytes_max);

}  // namespace pillion::sidecar
