// plain_pattern: patterns such as "^[a-z][a-z0-9-]{0,62}$" that can be matched from left to right
// without ever going back. They need no RE2, no memory and no lock.
//
// Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schema/code_set.hpp"
#include "schema/ecma_pattern.hpp"

namespace pillion::schema_check {

class plain_pattern {
 public:
    // nullopt when matching `from` would need to go back: a piece of varying length must not have
    // a character in common with what may come behind it.
    static std::optional<plain_pattern> make(const translation& from);

    bool matches(std::string_view text) const noexcept;

 private:
    struct piece {
        code_set set;
        std::uint32_t least;
        std::uint32_t most;
    };
    bool matches_at(std::string_view text, std::size_t at) const noexcept;

    std::vector<piece> pieces_;
    bool from_start_ = false;
    bool to_end_ = false;
};

}  // namespace pillion::schema_check
