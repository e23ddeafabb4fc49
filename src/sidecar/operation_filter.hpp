// operation_filter: which operations of an OpenAPI description become tools. A pattern is one of
//   repos/list-*       an operationId
//   GET /users/**      a method (or *) and a path as the description writes it, braces included
//   tag:NAME           a tag
// with the wildcards of base/glob; in operationIds and tags "*" stands for any run of characters.
//
// Thread-safety: an ordinary object for one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>

namespace pillion::sidecar {

struct operation_id {
    std::string_view method;  // "GET"
    std::string_view path;
    std::string_view id;  // operationId; may be empty
    json::view tags;
};

// A pattern, or what names one operation where nothing in it is a wildcard.
class operation_pattern {
 public:
    static constexpr std::size_t bytes_max = 512;

    // False with a fault in words.
    static bool parse(std::string_view text, operation_pattern& to, std::string& fault);

    bool matches(const operation_id& what) const;
    const std::string& text() const noexcept { return text_; }

 private:
    std::string text_;    // as it was given
    std::string method_;  // of a path: upper case, or "*"
    std::string glob_;
    bool of_tags_ = false;
};

class operation_filter {
 public:
    // Without any to include, all are. False with a fault that names the pattern.
    static bool parse(const std::vector<std::string>& include,
                      const std::vector<std::string>& exclude, operation_filter& to,
                      std::string& fault);

    // Whether it is asked for. What is excluded is not, whatever includes it.
    bool takes(const operation_id& what);
    // Patterns that no operation was like: mostly a slip of the pen.
    std::vector<std::string> unused() const;

 private:
    struct entry {
        operation_pattern pattern;
        bool used = false;
    };
    static bool parse_list(const std::vector<std::string>& from, std::vector<entry>& to,
                           std::string& fault);
    static bool any(std::vector<entry>& of, const operation_id& what);

    std::vector<entry> include_;
    std::vector<entry> exclude_;
};

}  // namespace pillion::sidecar
