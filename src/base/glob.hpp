// glob: patterns as people write them for names and paths. "*" is any run of characters but "/",
// "?" one of them, "**" any run at all, and "**/" any number of folders, also none. Everything else
// is itself, braces and brackets too.
//
// Thread-safety: pure functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace pillion::base {

// What is matched: a path, or a name, in which a slash is a character like any other.
enum class glob_of : std::uint8_t { path, name };

// Whether all of `text` is like `pattern`. Takes time linear in the product of their sizes,
// whatever they hold.
bool glob_matches(std::string_view pattern, std::string_view text, glob_of what = glob_of::path);

}  // namespace pillion::base
