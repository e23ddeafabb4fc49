// ignore: which paths the .gitignore files of a tree leave out.
//
// The rules are git's: nested files, "!" to include again, a trailing slash for directories only,
// a slash elsewhere to anchor, "*", "?", "[…]" within a component, "**" across components,
// backslash escapes; the last rule that matches decides, and deeper files decide first. Bytes are
// compared as they are. Only .gitignore files count, no other source of rules that git has.
//
// A match takes time proportional to pattern times path, whatever the pattern. Files, lines and
// rules are bounded; what is beyond the bounds has no effect.
//
// Ownership: values. Thread-safety: as an ordinary value; const calls from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::files {

inline constexpr std::string_view ignore_file_name = ".gitignore";
// Most bytes of a file of rules, most rules of it, longest rule.
inline constexpr std::size_t ignore_file_bytes_max = 256 * 1024;
inline constexpr std::size_t ignore_rules_max = 4096;
inline constexpr std::size_t ignore_rule_bytes_max = 1024;

// Whether `pattern` matches the whole of `path`: "*", "?" and classes match no slash, "**" between
// slashes or an end and a slash matches any number of components.
bool wildcard_match(std::string_view pattern, std::string_view path) noexcept;

// The rules of one file.
class ignore_file {
 public:
    enum class verdict : std::uint8_t { none, leave_out, keep };

    ignore_file() = default;
    // Parses the contents of a file of rules.
    explicit ignore_file(std::string_view text);

    // What the rules say of `path`, relative to the directory of the file.
    verdict judge(std::string_view path, bool directory) const noexcept;
    bool empty() const noexcept { return rules_.empty(); }

 private:
    struct rule {
        std::string pattern;
        bool keep = false;
        bool directories_only = false;
        bool name_only = false;  // no slash: it is for the last component, at any depth
    };
    void add(std::string_view line);

    std::vector<rule> rules_;
};

// The files of rules from the root down to one directory.
class ignore_chain {
 public:
    // Goes down into `directory` (relative to the root, empty for it) whose file holds `text`.
    void enter(std::string_view directory, std::string_view text);
    // Back to the directory above.
    void leave() noexcept { levels_.pop_back(); }

    // Whether `path`, which lies in the directory entered last, is left out by a rule of its own.
    // That a directory above it is left out is the caller's to know.
    bool leaves_out(std::string_view path, bool directory) const noexcept;

 private:
    struct level {
        std::size_t prefix = 0;  // bytes of a path before what is relative to this directory
        ignore_file rules{};
    };
    std::vector<level> levels_;
};

}  // namespace pillion::files
