// search: looking for a text or a regular expression in the text files of a tree, in slices.
//
// One step() works for about slice_ms and then returns, so that its caller can report progress or
// stop. Matching is RE2's: linear in the input and bounded in memory whatever the pattern is. A
// match never spans lines; for an expression a line ends in front of a \r\n too. Files are read in
// chunks; a line longer than a chunk is searched in pieces. Binary files (NUL or no UTF-8 at the
// start) are passed over, files over file_bytes_max are counted as skipped.
//
// Ownership: holds a reference to the tree, which must outlive it. Thread-safety: one thread at a
// time, any thread; calls block. They may throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/result.hpp>

#include "files/tree.hpp"

namespace re2 {
class RE2;
}

namespace pillion::files {

inline constexpr std::size_t search_pattern_bytes_max = 1000;
inline constexpr std::size_t search_matches_max = 1000;
inline constexpr std::size_t search_context_lines_max = 5;
// Larger files are skipped.
inline constexpr std::uint64_t search_file_bytes_max = 64 * 1024 * 1024;
// Bytes of one line in a result, and of all lines together.
inline constexpr std::size_t search_line_bytes_max = 1000;
inline constexpr std::size_t search_result_bytes_max = 512 * 1024;

struct search_request {
    std::string pattern;
    bool regex = false;  // else the text as it stands
    bool ignore_case = false;
    std::size_t matches_max = 100;
    std::size_t context_lines = 0;
};

// A line with a match; the first match of a line counts.
struct search_match {
    std::string path;
    std::uint64_t line = 0;    // counted from 1
    std::uint64_t column = 0;  // characters from 1
    std::string text;          // the line, a long one cut around the match
    std::vector<std::string> before{};
    std::vector<std::string> after{};
};

class search {
 public:
    // Null when the pattern is no good; `fault` then says why.
    static std::unique_ptr<search> make(const tree& where, const search_request& what,
                                        std::string& fault);
    ~search();
    search(const search&) = delete;
    search& operator=(const search&) = delete;

    // Searches the file `path` or everything below the directory `path`.
    result<void> start(std::string_view path);
    // Goes on for a slice. False when there is nothing left to do.
    bool step();

    const std::vector<search_match>& matches() const noexcept { return matches_; }
    // A bound on results was met: there may be more.
    bool full() const noexcept { return full_; }
    std::uint64_t files_searched() const noexcept { return files_searched_; }
    std::uint64_t files_skipped() const noexcept { return files_skipped_; }
    std::uint64_t bytes_searched() const noexcept { return bytes_searched_; }

 private:
    search(const tree& where, search_request what, std::unique_ptr<re2::RE2> matcher);

    bool next_file();
    void open(const entry& file);
    void next_chunk();
    void close() noexcept { open_ = false; }
    void scan(std::string_view lines);
    bool find(std::string_view lines, std::size_t from, std::size_t& at);
    void take(std::string_view lines, std::size_t begin, std::size_t end, std::size_t at);
    void add_context(search_match& to, std::uint64_t begin, std::uint64_t end) const;

    const tree& tree_;
    search_request what_;
    std::unique_ptr<re2::RE2> matcher_;
    std::size_t chunk_bytes_;
    bool by_line_ = false;  // the pattern can match a line's end: lines are tried one by one
    bool returns_ = false;  // lines being scanned end with \r\n: the same for those

    std::string base_;
    page files_;  // the files to come
    std::size_t at_ = 0;

    bool open_ = false;
    std::string path_;          // of the open file
    std::uint64_t offset_ = 0;  // of buffer_ in the file
    std::string buffer_;        // what is not searched yet
    std::uint64_t line_ = 1;    // at the start of buffer_
    std::uint64_t column_ = 0;  // characters of that line before buffer_

    std::vector<search_match> matches_;
    std::size_t result_bytes_ = 0;
    bool full_ = false;
    std::uint64_t files_searched_ = 0;
    std::uint64_t files_skipped_ = 0;
    std::uint64_t bytes_searched_ = 0;
};

}  // namespace pillion::files
