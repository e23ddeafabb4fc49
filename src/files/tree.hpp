// tree: a directory served read-only, and nothing outside of it.
//
// Every access goes through the kernel's RESOLVE_BENEATH (see beneath.hpp) from the root, so
// neither "..", absolute paths, symbolic links nor renames under way lead out. Symbolic links
// that stay inside are followed; links to directories are listed but never walked into, so a walk
// ends. Served are regular files and directories only. Unless the tree was opened with `hidden`,
// names that begin with a dot do not exist, also not behind a link. What .gitignore files leave out
// (see ignore.hpp) is not listed unless the tree was opened without `ignore`; it can be named.
//
// Ownership: holds one O_PATH descriptor. Thread-safety: immutable; any number of threads. Calls
// block: the event loop must not make them. They may throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/result.hpp>

#include "base/function_ref.hpp"
#include "files/beneath.hpp"
#include "files/ignore.hpp"

namespace pillion::files {

// Most bytes one read() returns, most entries one page holds, deepest directory a walk enters, and
// names a walk looks at before it returns with what it has.
inline constexpr std::size_t read_bytes_max = 1024 * 1024;
inline constexpr std::size_t page_entries_max = 1000;
inline constexpr std::size_t walk_depth_max = 64;
inline constexpr std::size_t walk_names_max = 20'000;

struct options {
    bool hidden = false;  // serve names that begin with a dot
    bool ignore = true;   // do not list what .gitignore files leave out
};

enum class entry_kind : std::uint8_t { file, directory };

// One file or directory.
struct entry {
    std::string path;
    entry_kind kind = entry_kind::file;
    bool linked = false;          // its last component is a symbolic link
    std::uint64_t size = 0;       // bytes of a file
    std::int64_t modified_s = 0;  // seconds since 1970
    std::int64_t changed_ns = 0;  // last change of contents or name, nanoseconds since 1970

    bool is_real_directory() const noexcept { return kind == entry_kind::directory && !linked; }
};

// Part of a listing. When `more`, calling again with `next` as `after` goes on behind it.
struct page {
    std::vector<entry> entries;
    std::string next;
    bool more = false;
};

// Part of a file.
struct slice {
    std::string bytes;
    std::uint64_t size_total = 0;  // of the file; no more than was there when it was read
    std::int64_t modified_s = 0;
};

// What complete() found.
struct completed_paths {
    std::vector<std::string> paths;
    bool more = false;
};

class tree {
 public:
    // Opens the directory `path` of the file system. Errors: not_found, denied, and unsupported
    // where the kernel or a sandbox offers no openat2.
    static result<tree> open(const std::string& path, options how);

    // ok() when the root may be served without having been named: it is neither "/" nor the home
    // directory. The error's text says what to do.
    result<void> check_default_root() const;

    // What `path` is. Errors of this and the following: invalid (no valid_path()), not_found,
    // denied, unsupported (neither file nor directory), unavailable, io.
    result<entry> stat(std::string_view path) const;

    // Entries of one directory sorted by bytes of their names, those after the entry named by the
    // path `after` (empty: all), which may have vanished. At most `entries_max`.
    result<page> list(std::string_view path, std::string_view after, std::size_t entries_max) const;

    // Everything below the directory `path` in the order of compare_paths(), what follows the path
    // `after` (empty: all), which may have vanished. Directories are left out unless
    // `directories`. A page may be short, even empty, and yet have `more`: a walk that has looked
    // at more than `names_max` names returns in between so that its caller can stop. Directories
    // that cannot be read or vanish meanwhile are passed over.
    result<page> walk(std::string_view path, std::string_view after, std::size_t entries_max,
                      bool directories, std::size_t names_max = walk_names_max) const;

    // At most `bytes_max` bytes (no more than read_bytes_max) of a regular file from `offset`; no
    // bytes behind its end.
    result<slice> read(std::string_view path, std::uint64_t offset, std::size_t bytes_max) const;

    // Whether names that begin with a dot are served.
    bool hidden() const noexcept { return hidden_; }

    // Whether listings from the root leave `path` out because of a .gitignore file, its own name's
    // or that of a directory above it.
    bool ignored(std::string_view path, bool directory) const;

    // At most `entries_max` paths that `typed` is the beginning of, one level deep, in the order of
    // list(): files that `takes` says yes to, and all directories, which end with a slash. A
    // `typed` that can begin no path has none. Hidden and ignored entries are left out. Having
    // looked at `names_max` names it ends and says that there are more.
    result<completed_paths> complete(std::string_view typed, std::size_t entries_max,
                                     base::function_ref<bool(std::string_view)> takes,
                                     std::size_t names_max = walk_names_max) const;

    // The open directory `path` itself, for readdir or inotify.
    result<unique_fd> open_directory(std::string_view path) const;

 private:
    friend class walker;

    // An O_PATH descriptor and what it is.
    struct place {
        unique_fd fd;
        entry what;
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
    };

    tree(unique_fd root, options how) noexcept
        : root_(std::move(root)), hidden_(how.hidden), ignore_(how.ignore) {}

    result<place> find(std::string_view path) const;
    result<unique_fd> open_links(std::string_view path, bool& linked, bool& through_link) const;
    result<void> check_visible(int fd) const;
    void enter(ignore_chain& chain, std::string_view directory) const;
    ignore_chain rules_of(std::string_view directory) const;

    unique_fd root_;
    bool hidden_ = false;
    bool ignore_ = true;
};

}  // namespace pillion::files
