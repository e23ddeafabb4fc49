#include "sidecar/operation_filter.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/glob.hpp"
#include "sidecar/report_text.hpp"

namespace pillion::sidecar {

namespace {

constexpr std::string_view tag_prefix = "tag:";
// Tags of one operation that are looked at.
constexpr std::size_t tags_max = 64;

}  // namespace

bool operation_pattern::parse(std::string_view text, operation_pattern& to, std::string& fault) {
    to = operation_pattern();
    to.text_ = text;
    if (text.empty() || text.size() > bytes_max) {
        fault = text.empty() ? "a pattern must not be empty" : "a pattern is too long";
        return false;
    }
    if (text.starts_with(tag_prefix)) {
        to.of_tags_ = true;
        to.glob_ = text.substr(tag_prefix.size());
        if (to.glob_.empty()) {
            fault = "tag: is followed by the name of a tag";
            return false;
        }
        return true;
    }
    const std::size_t blank = text.find(' ');
    if (blank == text.npos) {
        if (text.front() == '/') {
            fault = "a path follows a method, or *: \"* " + one_line(text, 80) + "\"";
            return false;
        }
        to.glob_ = text;
        return true;
    }
    const std::string_view path =
        text.substr(std::min(text.find_first_not_of(' ', blank), text.size()));
    for (const char c : text.substr(0, blank)) {
        to.method_ += base::is_alpha(c) ? static_cast<char>(c & ~0x20) : c;
    }
    const bool word = std::all_of(to.method_.begin(), to.method_.end(), base::is_upper);
    if (!(word || to.method_ == "*") || path.empty() ||
        (path.front() != '/' && path.front() != '*')) {
        fault = "a pattern is an operationId, \"METHOD /path\" or \"tag:NAME\", not \"" +
                one_line(text, 80) + "\"";
        return false;
    }
    to.glob_ = path;
    return true;
}

bool operation_pattern::matches(const operation_id& what) const {
    if (of_tags_) {
        std::size_t left = tags_max;
        for (const json::view tag : what.tags.elements()) {
            if (left-- == 0) {
                break;
            }
            if (tag.is_string() && tag.str().size() <= bytes_max &&
                base::glob_matches(glob_, tag.str(), base::glob_of::name)) {
                return true;
            }
        }
        return false;
    }
    if (!method_.empty()) {
        return (method_ == "*" || method_ == what.method) && base::glob_matches(glob_, what.path);
    }
    return !what.id.empty() && base::glob_matches(glob_, what.id, base::glob_of::name);
}

bool operation_filter::parse_list(const std::vector<std::string>& from, std::vector<entry>& to,
                                  std::string& fault) {
    for (const std::string& text : from) {
        if (!operation_pattern::parse(text, to.emplace_back().pattern, fault)) {
            return false;
        }
    }
    return true;
}

bool operation_filter::parse(const std::vector<std::string>& include,
                             const std::vector<std::string>& exclude, operation_filter& to,
                             std::string& fault) {
    to = operation_filter();
    return parse_list(include, to.include_, fault) && parse_list(exclude, to.exclude_, fault);
}

// All are asked, so that each knows whether it was of use.
bool operation_filter::any(std::vector<entry>& of, const operation_id& what) {
    bool found = false;
    for (entry& one : of) {
        if (one.pattern.matches(what)) {
            one.used = true;
            found = true;
        }
    }
    return found;
}

bool operation_filter::takes(const operation_id& what) {
    const bool included = any(include_, what) || include_.empty();
    return !any(exclude_, what) && included;
}

std::vector<std::string> operation_filter::unused() const {
    std::vector<std::string> out;
    for (const auto* const list : {&include_, &exclude_}) {
        for (const entry& one : *list) {
            if (!one.used) {
                out.push_back(one.pattern.text());
            }
        }
    }
    return out;
}

}  // namespace pillion::sidecar
