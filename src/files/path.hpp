// path: names of files inside a tree, as text.
//
// A path here is relative to the root of its tree: components separated by single slashes, valid
// UTF-8, no NUL, no empty, "." or ".." component; the empty path is the root itself. Everything
// from a client goes through valid_path() or decode_path() before a system call sees it. That is
// for clear answers; what keeps access inside the tree is the kernel (see beneath.hpp).
//
// Thread-safety: pure functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::files {

// Longest path and longest component, in bytes (PATH_MAX less its NUL, NAME_MAX).
inline constexpr std::size_t path_bytes_max = 4095;
inline constexpr std::size_t name_bytes_max = 255;

// Whether `name` can be one component of a path.
bool valid_name(std::string_view name) noexcept;

// Whether `path` obeys the rules above; the empty path does.
bool valid_path(std::string_view path) noexcept;

// Whether a component of `path` begins with a dot.
bool hidden_path(std::string_view path) noexcept;

// The last component of `path`.
std::string_view name_of(std::string_view path) noexcept;

// `directory` and `name` joined by a slash; `name` alone when `directory` is empty.
std::string join(std::string_view directory, std::string_view name);

// Whether `path` is `directory` or lies below it.
bool is_within(std::string_view path, std::string_view directory) noexcept;

// The order of a depth-first walk: by components, each by its bytes, a directory before what is in
// it. Less than, equal to or greater than 0 as for memcmp.
int compare_paths(std::string_view a, std::string_view b) noexcept;

// `path` as part of a URI: unreserved characters (RFC 3986 §2.3) and slashes stay, every other
// byte becomes %XX in upper case.
std::string encode_path(std::string_view path);

// The path that `text` of a URI stands for; nullopt when an escape is malformed or the result is
// no valid path. An escaped slash or NUL is refused. Reserved characters ('?', '#', …) may stand
// unescaped, because "{+path}" of a URI template is expanded that way (RFC 6570 §3.2.3).
std::optional<std::string> decode_path(std::string_view text);

// `path` as a value of the variable of "{+path}", which keeps what looks like an escape: "%" is
// "%25" where two hexadecimal digits follow. unescape_value() undoes that, also of a beginning.
std::string escape_value(std::string_view path);
std::string unescape_value(std::string_view typed);

}  // namespace pillion::files
