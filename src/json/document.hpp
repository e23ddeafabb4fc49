// document: a parsed JSON text that owns everything it needs, for start-up code and tests. Requests
// parse in place into their own arena instead (json/parser.hpp).
//
// Thread-safety: immutable; the thread that destroys it must be the last to use it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <pillion/json.hpp>
#include <pillion/result.hpp>

#include "json/parser.hpp"

namespace pillion::json {

class document {
 public:
    // Copies and parses `text`. On failure the error is `invalid` with the parser's text, and
    // `*error_offset`, when given, is the byte at fault. Allocates; may throw std::bad_alloc.
    static result<document> parse(std::string_view text, std::size_t* error_offset = nullptr,
                                  const parse_limits& bounds = {});

    document(document&& other) noexcept;
    document& operator=(document&& other) noexcept;
    ~document();

    // The value. Views of it live as long as the document; moving the document keeps them valid.
    view root() const noexcept { return root_; }

 private:
    struct storage;
    explicit document(std::unique_ptr<storage> owned) noexcept;

    std::unique_ptr<storage> owned_;
    view root_;
};

}  // namespace pillion::json
