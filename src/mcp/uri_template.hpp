// uri_template: the part of RFC 6570 that resource templates need: literals, "{name}" (a value
// without reserved characters) and "{+name}" (a value that may contain them, slashes too).
//
// Matching is deterministic: a variable takes as little as the literal behind it allows, the last
// one takes the rest. Values are percent-decoded. Thread-safety: immutable after parse().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/arena.hpp"

namespace pillion::mcp {

struct template_value {
    std::string_view name;
    std::string_view value;
};

class uri_template {
 public:
    static constexpr std::size_t variables_max = 16;

    uri_template() = default;
    // nullopt with a `fault` text when the template is malformed: unbalanced braces, an unknown
    // operator, two variables without a literal between them, more than variables_max.
    static std::optional<uri_template> parse(std::string_view text, std::string& fault);

    // Matches a URI. On success the decoded values are in `out` (room for variables_max), memory
    // from `memory`, and their count is returned; nullopt when the URI does not match.
    std::optional<std::size_t> match(std::string_view uri, base::arena& memory,
                                     template_value* out) const;

    const std::vector<std::string>& variables() const noexcept { return names_; }

 private:
    struct piece {
        std::string literal;  // before the variable
        bool has_variable = false;
        bool reserved = false;  // "{+name}"
    };
    std::vector<piece> pieces_;
    std::vector<std::string> names_;
};

}  // namespace pillion::mcp
