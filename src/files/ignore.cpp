#include "files/ignore.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "files/path.hpp"

namespace pillion::files {

namespace {

constexpr std::size_t none = std::string_view::npos;

// Whether the character class `name` of POSIX ("alpha", …) has `c`.
bool in_named_class(std::string_view name, unsigned char c) noexcept {
    const char plain = static_cast<char>(c);
    const bool printable = c > 0x20 && c < 0x7F;
    if (name == "alnum") return base::is_alnum(plain);
    if (name == "alpha") return base::is_alnum(plain) && !(c >= '0' && c <= '9');
    if (name == "blank") return c == ' ' || c == '\t';
    if (name == "cntrl") return c < 0x20 || c == 0x7F;
    if (name == "digit") return c >= '0' && c <= '9';
    if (name == "graph") return printable;
    if (name == "lower") return c >= 'a' && c <= 'z';
    if (name == "print") return printable || c == ' ';
    if (name == "punct") return printable && !base::is_alnum(plain);
    if (name == "space") return c == ' ' || (c >= '\t' && c <= '\r');
    if (name == "upper") return c >= 'A' && c <= 'Z';
    return name == "xdigit" && base::hex_digit(plain) >= 0;
}

// One element of a pattern, tried against one byte.
struct step {
    std::size_t size = 0;  // bytes of the pattern; 0 when it is malformed
    bool hit = false;
};

// A character of a class from `at`, which is moved behind it; -1 when the pattern ends.
int class_character(std::string_view pattern, std::size_t& at) noexcept {
    if (at < pattern.size() && pattern[at] == '\\') {
        ++at;
    }
    return at < pattern.size() ? static_cast<unsigned char>(pattern[at++]) : -1;
}

// "[:name:]" at `at`: 1 or 0 for whether it has `c`, -1 when there is none there.
int named_class(std::string_view pattern, std::size_t& at, unsigned char c) noexcept {
    if (pattern.substr(at, 2) != "[:") {
        return -1;
    }
    const std::size_t end = pattern.find(']', at + 2);
    if (end == none || end == at + 2 || pattern[end - 1] != ':') {
        return -1;
    }
    const std::string_view name = pattern.substr(at + 2, end - at - 3);
    at = end + 1;
    return in_named_class(name, c) ? 1 : 0;
}

// A bracket expression that begins at pattern[0].
step try_class(std::string_view pattern, unsigned char c) noexcept {
    std::size_t at = 1;
    const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
    at += negated ? 1 : 0;
    bool hit = false;
    for (bool first = true; at < pattern.size() && (first || pattern[at] != ']'); first = false) {
        const int named = named_class(pattern, at, c);
        if (named >= 0) {
            hit = hit || named > 0;
            continue;
        }
        const int low = class_character(pattern, at);
        int high = low;
        if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
            ++at;
            high = class_character(pattern, at);
        }
        if (low < 0 || high < 0) {
            return {};
        }
        hit = hit || (low <= c && c <= high);
    }
    if (at >= pattern.size()) {
        return {};
    }
    return {at + 1, hit != negated && c != '/'};
}

step try_one(std::string_view pattern, char c) noexcept {
    switch (pattern[0]) {
        case '?':
            return {1, c != '/'};
        case '[':
            return try_class(pattern, static_cast<unsigned char>(c));
        case '\\':
            return pattern.size() < 2 ? step{} : step{2, pattern[1] == c};
        default:
            return {1, pattern[0] == c};
    }
}

// A run of asterisks in a pattern.
struct stars {
    std::size_t end;  // behind the run
    bool across;      // "**" that stands for whole components
};

stars read_stars(std::string_view pattern, std::size_t at) noexcept {
    const std::size_t end = std::min(pattern.find_first_not_of('*', at), pattern.size());
    const bool alone =
        (at == 0 || pattern[at - 1] == '/') && (end == pattern.size() || pattern[end] == '/');
    return {end, alone && end - at >= 2};
}

}  // namespace

// When something does not fit, the last "*" takes one more byte, and when it may not, the last "**"
// one more component. Going back further can never help: what lies before took the least it could.
bool wildcard_match(std::string_view pattern, std::string_view path) noexcept {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = none;
    std::size_t star_at = 0;
    std::size_t across = none;
    std::size_t across_at = 0;
    for (;;) {
        if (p < pattern.size() && pattern[p] == '*') {
            const stars run = read_stars(pattern, p);
            if (run.across && run.end == pattern.size()) {
                return true;
            }
            if (run.across) {
                across = run.end + 1;
                across_at = t;
                star = none;
                p = across;
            } else {
                star = run.end;
                star_at = t;
                p = star;
            }
            continue;
        }
        if (p == pattern.size() && t == path.size()) {
            return true;
        }
        if (p < pattern.size() && t < path.size()) {
            const step one = try_one(pattern.substr(p), path[t]);
            if (one.size == 0) {
                return false;
            }
            if (one.hit) {
                p += one.size;
                ++t;
                continue;
            }
        }
        if (star != none && star_at < path.size() && path[star_at] != '/') {
            p = star;
            t = ++star_at;
            continue;
        }
        const std::size_t slash = across == none ? none : path.find('/', across_at);
        if (slash == none) {
            return false;
        }
        p = across;
        t = across_at = slash + 1;
        star = none;
    }
}

ignore_file::ignore_file(std::string_view text) {
    text = text.substr(0, ignore_file_bytes_max);
    if (text.starts_with("\xEF\xBB\xBF")) {
        text.remove_prefix(3);
    }
    while (!text.empty() && rules_.size() < ignore_rules_max) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (line.size() <= ignore_rule_bytes_max) {
            add(line);
        }
    }
}

void ignore_file::add(std::string_view line) {
    if (line.starts_with('#')) {
        return;
    }
    // Blanks at the end go, unless a backslash keeps one.
    std::size_t size = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\') {
            i = std::min(i + 1, line.size() - 1);
            size = i + 1;
        } else if (line[i] != ' ') {
            size = i + 1;
        }
    }
    line = line.substr(0, size);
    rule one;
    if (line.starts_with('!')) {
        one.keep = true;
        line.remove_prefix(1);
    }
    if (line.ends_with('/')) {
        one.directories_only = true;
        line.remove_suffix(1);
    }
    one.name_only = line.find('/') == none;
    if (line.starts_with('/')) {
        line.remove_prefix(1);
    }
    if (line.empty()) {
        return;
    }
    one.pattern = line;
    rules_.push_back(std::move(one));
}

ignore_file::verdict ignore_file::judge(std::string_view path, bool directory) const noexcept {
    const auto decides = [&](const rule& one) {
        return (directory || !one.directories_only) &&
               wildcard_match(one.pattern, one.name_only ? name_of(path) : path);
    };
    const auto found = std::find_if(rules_.rbegin(), rules_.rend(), decides);
    if (found == rules_.rend()) {
        return verdict::none;
    }
    return found->keep ? verdict::keep : verdict::leave_out;
}

void ignore_chain::enter(std::string_view directory, std::string_view text) {
    level one;
    one.prefix = directory.empty() ? 0 : directory.size() + 1;
    one.rules = ignore_file(text);
    levels_.push_back(std::move(one));
}

bool ignore_chain::leaves_out(std::string_view path, bool directory) const noexcept {
    for (auto at = levels_.rbegin(); at != levels_.rend(); ++at) {
        if (at->rules.empty()) {
            continue;
        }
        const ignore_file::verdict said = at->rules.judge(path.substr(at->prefix), directory);
        if (said != ignore_file::verdict::none) {
            return said == ignore_file::verdict::leave_out;
        }
    }
    return false;
}

}  // namespace pillion::files
