#include "files/search.hpp"

#include <re2/re2.h>
#include <algorithm>
#include <thread>

#include "base/clock.hpp"
#include "files/media.hpp"

namespace pillion::files {

namespace {

constexpr std::int64_t slice_ms = 20;
constexpr std::int64_t matcher_bytes_max = 8 * 1024 * 1024;
// In the worst case RE2 takes a step for every instruction at every byte. The size of a chunk, the
// work between two looks at the clock, keeps that below chunk_steps_max.
constexpr int program_size_max = 2000;
constexpr std::size_t chunk_steps_max = 16 * 1024 * 1024;
constexpr std::size_t chunk_bytes_min = 8 * 1024;
constexpr std::size_t chunk_bytes_max = 256 * 1024;
// Entries and names looked at between two looks at the clock.
constexpr std::size_t files_at_once = 64;
constexpr std::size_t names_at_once = 2000;
// What a long line shows before its match.
constexpr std::size_t lead_bytes = 200;
// Bytes read on either side of a line for those around it.
constexpr std::size_t context_bytes = 8 * 1024;

bool continues(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::uint64_t characters(std::string_view text) noexcept {
    return static_cast<std::uint64_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string_view without_return(std::string_view line) noexcept {
    line.remove_suffix(line.ends_with('\r') ? 1 : 0);
    return line;
}

// At most search_line_bytes_max of `line` that include what is at `at`, in whole characters.
std::string cut_line(std::string_view line, std::size_t at) {
    line = without_return(line);
    if (line.size() > search_line_bytes_max) {
        std::size_t begin = at > lead_bytes ? at - lead_bytes : 0;
        begin = std::min(begin, line.size() - search_line_bytes_max);
        while (begin > 0 && continues(line[begin])) {
            --begin;
        }
        std::size_t end = std::min(begin + search_line_bytes_max, line.size());
        while (end < line.size() && end > begin && continues(line[end])) {
            --end;
        }
        line = line.substr(begin, end - begin);
    }
    return std::string(line);
}

std::size_t chunk_for(int program_size) noexcept {
    const std::size_t steps = static_cast<std::size_t>(std::max(program_size, 1));
    return std::clamp(chunk_steps_max / steps, chunk_bytes_min, chunk_bytes_max);
}

}  // namespace

search::search(const tree& where, search_request what, std::unique_ptr<re2::RE2> matcher)
    : tree_(where),
      what_(std::move(what)),
      matcher_(std::move(matcher)),
      chunk_bytes_(chunk_for(matcher_->ProgramSize())) {}

search::~search() = default;

std::unique_ptr<search> search::make(const tree& where, const search_request& what,
                                     std::string& fault) {
    if (what.pattern.empty() || what.pattern.size() > search_pattern_bytes_max) {
        fault = "pattern must have 1 to 1000 bytes";
        return nullptr;
    }
    if (what.pattern.find_first_of(std::string_view("\n\0", 2)) != what.pattern.npos) {
        fault = "pattern must be one line without NUL; lines are matched one by one";
        return nullptr;
    }
    re2::RE2::Options how;
    how.set_log_errors(false);
    how.set_max_mem(matcher_bytes_max);
    how.set_case_sensitive(!what.ignore_case);
    how.set_never_nl(true);
    how.set_never_capture(true);
    const std::string text =
        "(?m)" + (what.regex ? what.pattern : re2::RE2::QuoteMeta(what.pattern));
    auto matcher = std::make_unique<re2::RE2>(text, how);
    if (!matcher->ok()) {
        fault = "pattern is no regular expression of RE2: " + matcher->error();
        return nullptr;
    }
    if (matcher->ProgramSize() > program_size_max) {
        fault = "pattern is too complex; lower its repetition counts";
        return nullptr;
    }
    return std::unique_ptr<search>(new search(where, what, std::move(matcher)));
}

result<void> search::start(std::string_view path) {
    result<entry> what = tree_.stat(path);
    if (!what) {
        return what.error();
    }
    base_ = path;
    if (what->kind == entry_kind::directory) {
        files_.more = true;
        return ok();
    }
    files_.entries.push_back(std::move(*what));
    return ok();
}

bool search::step() {
    const std::int64_t end = base::monotonic_now_ns() + slice_ms * base::ns_per_ms;
    do {
        if (open_) {
            next_chunk();
            // On a busy processor the loop would else wait for the end of this thread's time slice.
            std::this_thread::yield();
        } else if (!next_file()) {
            return false;
        }
        if (full_) {
            return false;
        }
    } while (base::monotonic_now_ns() < end);
    return true;
}

// Opens the next file or fetches the next page of them. False when there are no more.
bool search::next_file() {
    if (at_ < files_.entries.size()) {
        open(files_.entries[at_++]);
        return true;
    }
    if (!files_.more) {
        return false;
    }
    result<page> batch = tree_.walk(base_, files_.next, files_at_once, false, names_at_once);
    files_ = batch ? std::move(*batch) : page{};
    at_ = 0;
    return true;
}

void search::open(const entry& file) {
    if (file.size > search_file_bytes_max) {
        ++files_skipped_;
        return;
    }
    path_ = file.path;
    offset_ = 0;
    buffer_.clear();
    line_ = 1;
    column_ = 0;
    open_ = true;
}

void search::next_chunk() {
    const std::uint64_t from = offset_ + buffer_.size();
    const result<slice> got = tree_.read(path_, from, chunk_bytes_);
    if (!got) {
        ++files_skipped_;
        return close();
    }
    const bool text =
        from == 0 ? is_text_start(got->bytes) : got->bytes.find('\0') == std::string::npos;
    if (!text) {
        return close();
    }
    files_searched_ += from == 0 ? 1 : 0;
    bytes_searched_ += got->bytes.size();
    buffer_ += got->bytes;
    const bool last = got->bytes.empty() || from + got->bytes.size() >= got->size_total ||
                      from + got->bytes.size() > search_file_bytes_max;
    const std::size_t newline = buffer_.rfind('\n');
    std::size_t whole = last ? buffer_.size() : newline + 1;
    if (!last && newline == buffer_.npos) {
        // Not even one line: as much of it as there is, in whole characters.
        whole = buffer_.size();
        while (whole > 1 && continues(buffer_[whole - 1])) {
            --whole;
        }
        whole = std::max<std::size_t>(whole - 1, 1);
    }
    const std::string_view lines = std::string_view(buffer_).substr(0, whole);
    scan(lines);
    const std::size_t tail = lines.rfind('\n') + 1;
    column_ = (tail > 0 ? 0 : column_) + characters(lines.substr(tail));
    line_ += static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    offset_ += whole;
    buffer_.erase(0, whole);
    if (last) {
        close();
    }
}

// The first line with a match at or behind `from`: where the match is.
bool search::find(std::string_view lines, std::size_t from, std::size_t& at) {
    re2::StringPiece hit;
    const re2::StringPiece all(lines.data(), lines.size());
    while (!by_line_ && !returns_) {
        if (!matcher_->Match(all, from, lines.size(), re2::RE2::UNANCHORED, &hit, 1)) {
            return false;
        }
        at = static_cast<std::size_t>(hit.data() - lines.data());
        const bool within = std::string_view(hit.data(), hit.size()).find('\n') == lines.npos;
        if (within) {
            return at < lines.size() || !lines.ends_with('\n');
        }
        by_line_ = true;
    }
    while (from < lines.size()) {
        const std::size_t end = std::min(lines.find('\n', from), lines.size());
        const std::string_view text = without_return(lines.substr(from, end - from));
        const re2::StringPiece line(text.data(), text.size());
        if (matcher_->Match(line, 0, line.size(), re2::RE2::UNANCHORED, &hit, 1)) {
            at = static_cast<std::size_t>(hit.data() - lines.data());
            return true;
        }
        from = end + 1;
    }
    return false;
}

void search::scan(std::string_view lines) {
    std::size_t counted = 0;
    const std::uint64_t first = line_;
    const std::uint64_t first_column = column_;
    // `$` is in front of a \n only. A literal has none, nor anything that a \r could be.
    returns_ = what_.regex && (lines.find("\r\n") != lines.npos || lines.ends_with('\r'));
    std::size_t at = 0;
    for (std::size_t from = 0; from < lines.size() && find(lines, from, at);) {
        // A match at the end of a line that `from` is behind of does not occur: `from` begins one.
        const std::size_t begin = at == 0 ? 0 : lines.rfind('\n', at - 1) + 1;
        const std::size_t end = std::min(lines.find('\n', at), lines.size());
        line_ += static_cast<std::uint64_t>(
            std::count(lines.begin() + static_cast<std::ptrdiff_t>(counted),
                       lines.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
        column_ = begin == 0 ? first_column : 0;
        counted = begin;
        if (matches_.size() == what_.matches_max || result_bytes_ >= search_result_bytes_max) {
            full_ = true;
            break;
        }
        take(lines, begin, end, at);
        from = end + 1;
    }
    line_ = first;
    column_ = first_column;
}

void search::take(std::string_view lines, std::size_t begin, std::size_t end, std::size_t at) {
    search_match one;
    one.path = path_;
    one.line = line_;
    one.column = column_ + characters(lines.substr(begin, at - begin)) + 1;
    one.text = cut_line(lines.substr(begin, end - begin), at - begin);
    if (what_.context_lines > 0) {
        add_context(one, offset_ + begin, offset_ + end);
    }
    result_bytes_ += one.path.size() + one.text.size();
    for (const std::vector<std::string>* around : {&one.before, &one.after}) {
        for (const std::string& line : *around) {
            result_bytes_ += line.size();
        }
    }
    matches_.push_back(std::move(one));
}

// The lines around the one from `begin` to `end` of the file.
void search::add_context(search_match& to, std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t from = begin > context_bytes ? begin - context_bytes : 0;
    const result<slice> above = tree_.read(path_, from, begin - from);
    std::string_view rest = above ? std::string_view(above->bytes) : std::string_view{};
    rest.remove_suffix(rest.ends_with('\n') ? 1 : 0);
    for (bool more = above && begin > from; more && to.before.size() < what_.context_lines;) {
        const std::size_t newline = rest.rfind('\n');
        to.before.insert(to.before.begin(), cut_line(rest.substr(newline + 1), 0));
        more = newline != rest.npos;
        rest = rest.substr(0, more ? newline : 0);
    }
    const result<slice> below = tree_.read(path_, end + 1, context_bytes);
    rest = below ? std::string_view(below->bytes) : std::string_view{};
    while (!rest.empty() && to.after.size() < what_.context_lines) {
        const std::size_t newline = std::min(rest.find('\n'), rest.size());
        to.after.push_back(cut_line(rest.substr(0, newline), 0));
        rest.remove_prefix(std::min(newline + 1, rest.size()));
    }
}

}  // namespace pillion::files
